// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CMicrohttpd
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A small server on 127.0.0.1, whose one thread does nothing while nobody asks.
final class LoopbackServer: Sendable {
  /// The port that it listens on.
  let port: UInt16

  private let service: PageService
  /// The running daemon; nil once stopped.
  private let daemon: Mutex<OpaquePointer?>

  /// Starts to serve.
  ///
  /// - Parameters:
  ///   - port: The port to listen on; 0 lets the system choose one.
  ///   - refuse: Answers a request that is not granted whatever its body is, before any of that is read.
  ///   - respond: Answers a request, on the server's own thread, so it must not wait for anything.
  /// - Throws: Why the port cannot be had.
  init(
    port: UInt16, refuse: @escaping @Sendable (PageRequest) -> PageAnswer?,
    respond: @escaping @Sendable (PageRequest) -> PageAnswer
  ) throws(SystemError) {
    service = PageService(refuse: refuse, respond: respond)
    // Not retained: only the daemon's thread uses it, and `deinit` waits for that to end before the service
    // is let go.
    let context = Unmanaged.passUnretained(service).toOpaque()
    let started = batchwise_mhd_start_suspendable(
      port, 256, LoopbackServer.access, LoopbackServer.completed, context)
    guard let started else { throw SystemError(errno) }
    self.port = batchwise_mhd_port(started)
    daemon = Mutex(started)
  }

  deinit { stop() }

  /// Sends a message to everybody who reads the stream.
  func publish(_ message: [UInt8]) {
    for stream in service.streams.withLock({ Array($0.values) }) { stream.publish(message) }
  }

  /// How many read the stream.
  var readers: Int { service.streams.withLock(\.count) }

  /// Closes the port and all connections; stopping twice does no harm.
  func stop() {
    let running = daemon.withLock { $0.take() }
    guard let running else { return }
    service.isOver.store(true, ordering: .sequentiallyConsistent)
    for stream in service.streams.withLock({ Array($0.values) }) { stream.end() }
    MHD_stop_daemon(running)
  }

  // MARK: - What libmicrohttpd calls

  private static let access: MHD_AccessHandlerCallback = {
    context, connection, path, method, _, upload, uploadSize, requestState in
    guard let context, let connection, let path, let method, let uploadSize, let requestState
    else { return .NO }
    let service = Unmanaged<PageService>.fromOpaque(context).takeUnretainedValue()
    var request = PageRequest(method: String(cString: method), path: String(cString: path))
    request.host = value("Host", .HEADER_KIND, of: connection)
    request.origin = value("Origin", .HEADER_KIND, of: connection)
    // The first call for a request has only read its head.
    guard let state = requestState.pointee else {
      let length = value("Content-Length", .HEADER_KIND, of: connection).flatMap { Int($0) } ?? 0
      if let refusal = service.refuse(request) ?? (length > PageRequest.longestBody ? tooLong : nil)
      {
        return send(refusal, on: connection, service)
      }
      requestState.pointee = Unmanaged.passRetained(RequestBody()).toOpaque()
      return .YES
    }
    let body = Unmanaged<RequestBody>.fromOpaque(state).takeUnretainedValue()
    if uploadSize.pointee > 0 {
      let part = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
      uploadSize.pointee = 0
      // One that did not say how long it is has its connection closed.
      return body.add(part) ? .YES : .NO
    }
    for name in PageRequest.knownQueries {
      request.queries[name] = value(name, .GET_ARGUMENT_KIND, of: connection)
    }
    request.body = body.bytes
    return send(service.respond(request), on: connection, service)
  }

  private static var tooLong: PageAnswer {
    let text = "At most \(PageRequest.longestBody >> 20) MiB can be sent at once.\n"
    return PageAnswer(413, type: "text/plain", Array(text.utf8))
  }

  private static let completed: MHD_RequestCompletedCallback = { _, _, requestState, _ in
    guard let state = requestState?.pointee else { return }
    Unmanaged<RequestBody>.fromOpaque(state).release()
    requestState?.pointee = nil
  }

  private static func value(
    _ name: String, _ kind: MHD_ValueKind, of connection: OpaquePointer
  ) -> String? {
    MHD_lookup_connection_value(connection, kind, name).map { String(cString: $0) }
  }

  private static func send(
    _ answer: PageAnswer, on connection: OpaquePointer, _ service: PageService
  ) -> MHD_Result {
    let response: OpaquePointer?
    switch answer.body {
    case .bytes(var bytes):
      response = MHD_create_response_from_buffer(bytes.count, &bytes, .RESPMEM_MUST_COPY)
    case .file(let descriptor, let size):
      response = MHD_create_response_from_fd64(UInt64(size), descriptor)
      if response == nil { close(descriptor) }
    case .stream(let first): response = service.openStream(on: connection, first)
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }  // ends this hold on it; the connection has its own
    for (name, value) in answer.fields { MHD_add_response_header(response, name, value) }
    return MHD_queue_response(connection, UInt32(answer.status), response)
  }
}

/// The body of one request as it comes in, on the server's thread.
private final class RequestBody {
  private(set) var bytes: [UInt8] = []

  /// Takes the next bytes, unless they are too many.
  func add(_ part: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count + part.count <= PageRequest.longestBody else { return false }
    bytes.append(contentsOf: part)
    return true
  }
}

/// What the server's thread works with.
private final class PageService: Sendable {
  let refuse: @Sendable (PageRequest) -> PageAnswer?
  let respond: @Sendable (PageRequest) -> PageAnswer
  let streams = Mutex<[ObjectIdentifier: EventStream]>([:])
  let isOver = Atomic(false)

  init(
    refuse: @escaping @Sendable (PageRequest) -> PageAnswer?,
    respond: @escaping @Sendable (PageRequest) -> PageAnswer
  ) {
    self.refuse = refuse
    self.respond = respond
  }

  /// One page's hold on its stream, let go of with the answer that writes it.
  private final class Reader {
    let stream = EventStream()
    let service: PageService
    let connection: OpaquePointer

    init(_ service: PageService, _ connection: OpaquePointer) {
      self.service = service
      self.connection = connection
    }
  }

  /// An answer that writes a first message, and then what is published.
  func openStream(
    on connection: OpaquePointer, _ first: () -> [UInt8]
  ) -> OpaquePointer? {
    let reader = Reader(self, connection)
    streams.withLock { $0[ObjectIdentifier(reader.stream)] = reader.stream }
    // Made when whatever is published from now on comes here too.
    reader.stream.publish(first())
    // Whoever stops the server from now on ends this stream too.
    if isOver.load(ordering: .sequentiallyConsistent) { reader.stream.end() }
    let context = Unmanaged.passRetained(reader)
    let response = MHD_create_response_from_callback(
      .max, 4096,
      { context, _, buffer, size in
        guard let context, let buffer else { return -1 }
        let reader = Unmanaged<Reader>.fromOpaque(context).takeUnretainedValue()
        return reader.stream.write(
          to: UnsafeMutableRawBufferPointer(start: buffer, count: size), of: reader.connection)
      }, context.toOpaque(),
      { context in
        guard let context else { return }
        let reader = Unmanaged<Reader>.fromOpaque(context).takeRetainedValue()
        reader.service.close(reader.stream)
      })
    if response == nil {
      close(reader.stream)
      context.release()
    }
    return response
  }

  private func close(_ stream: EventStream) {
    streams.withLock { $0[ObjectIdentifier(stream)] = nil }
  }
}
