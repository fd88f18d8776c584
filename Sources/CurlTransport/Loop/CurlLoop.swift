// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCurl
internal import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The loop that carries all transfers of one transport on one thread.
///
/// The slots, the sockets, libcurl's handles and the calls to handlers all belong to that thread,
/// so none of them needs a lock. Other threads reach it through the inbox.
///
/// `@unchecked Sendable`: after `init`, its state is touched by the loop's thread only; `inbox` and
/// `rounds` are constants and safe by themselves.
final class CurlLoop: @unchecked Sendable {
  let inbox: Inbox

  /// How many times the loop has waited; what an idle loop is judged by.
  let rounds = Atomic(0)

  /// The time of this round, read once in it.
  private(set) var now = ContinuousClock.now

  private let multi: UnsafeMutableRawPointer
  private let driver: any LoopDriver
  private let userAgent: String?
  private let proxies: ProxySettings

  private var commands: [Inbox.Command] = []
  private var running: [ObjectIdentifier: TransferSlot] = [:]
  private var spare: [TransferSlot] = []
  private var slotCount = 0
  private var longBuffer = CurlLoop.longBuffers.upperBound
  private var nextIdleCheck = ContinuousClock.now

  /// How large a buffer for long bodies may be.
  private static let longBuffers = (16 * 1024)...(512 * 1024)

  /// How large all of them may be together.
  private static let bufferBudget = 8 * 1024 * 1024

  /// How many connections may be kept besides one for each transfer in flight.
  private static let spareConnections = 64

  init(
    driver kind: CurlTransport.Driver, userAgent: String?, proxies: ProxySettings
  ) throws(CurlTransportError) {
    guard CurlLibrary.isReady, let multi = curl_multi_init() else {
      throw CurlTransportError("libcurl could not be set up.")
    }
    self.multi = multi
    self.userAgent = userAgent
    self.proxies = proxies
    do {
      driver = try kind.make(for: multi)
    } catch {
      curl_multi_cleanup(multi)
      throw error
    }
    inbox = Inbox(wake: driver.makeBell())
  }

  /// Works until the inbox is closed: all that the loop's thread does.
  func run() {
    withUTF8 {
      while round() {}
      endEverything()
    }
  }

  /// Takes a command from a handler that is being called by this loop.
  func post(_ command: Inbox.Command) {
    commands.append(command)
  }
}

// MARK: Rounds

extension CurlLoop {
  /// Waits, lets libcurl work, tells handlers what ended, and begins what came free or in.
  ///
  /// Only a loop with nothing at hand waits, and so whatever a handler starts from `finish(_:)` is
  /// begun before. Otherwise a limit of 1 would sleep after every transfer.
  private func round() -> Bool {
    let mayRest = commands.isEmpty && inbox.fallAsleep()
    driver.wait(atMost: mayRest ? timeToIdleCheck : .zero)
    rounds.add(1, ordering: .relaxed)
    now = .now
    guard inbox.take(into: &commands) else { return false }

    driver.perform()
    finishEnded()
    checkIdle()
    if commands.isEmpty { return true }
    driver.dropUnfitConnections()
    runCommands()
    driver.perform()
    finishEnded()
    return true
  }

  private func runCommands() {
    let batch = commands
    commands = []
    for command in batch {
      switch command {
      case .start(let transfers): for transfer in transfers { begin(transfer) }
      case .cancel(let handler): cancel(handler)
      }
    }
  }

  private func finishEnded() {
    var left: CInt = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let address = ccurl_get_private(easy)
      else { continue }
      finish(TransferSlot.at(address), after: ccurl_message_result(message))
    }
  }
}

// MARK: Transfers

extension CurlLoop {
  private func begin(_ transfer: Transfer) {
    let key = ObjectIdentifier(transfer.handler)
    precondition(running[key] == nil, "a handler serves one transfer at a time")
    guard let slot = spare.popLast() ?? makeSlot() else {
      return transfer.handler.finish(.failed(.outOfHandles(for: transfer.url)))
    }
    running[key] = slot
    if let failure = slot.prepare(transfer, longBuffer: longBuffer) {
      release(slot, telling: .failed(failure))
    } else {
      add(slot)
    }
  }

  private func add(_ slot: TransferSlot) {
    if curl_multi_add_handle(multi, slot.easy) != CURLM_OK {
      release(slot, telling: .failed(.outOfHandles(for: slot.url)))
    }
  }

  private func cancel(_ handler: any TransferHandler) {
    if let slot = running[ObjectIdentifier(handler)] { remove(slot, telling: .cancelled) }
  }

  private func finish(_ slot: TransferSlot, after result: CURLcode) {
    if slot.needsFreshConnection(after: result) {
      curl_multi_remove_handle(multi, slot.easy)
      add(slot)
    } else {
      remove(slot, telling: slot.end(after: result))
    }
  }

  private func remove(_ slot: TransferSlot, telling end: TransferEnd) {
    curl_multi_remove_handle(multi, slot.easy)
    release(slot, telling: end)
  }

  /// Everything is settled before the handler hears of it, so that it may start and cancel.
  private func release(_ slot: TransferSlot, telling end: TransferEnd) {
    guard let handler = slot.clear() else { return }
    running[ObjectIdentifier(handler)] = nil
    spare.append(slot)
    handler.finish(end)
  }

  private func makeSlot() -> TransferSlot? {
    guard let slot = TransferSlot(loop: self, userAgent: userAgent, proxies: proxies) else {
      return nil
    }
    slotCount += 1
    longBuffer = max(
      Self.longBuffers.lowerBound, min(Self.longBuffers.upperBound, Self.bufferBudget / slotCount))
    ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, slotCount + Self.spareConnections)
    return slot
  }

  /// Ends the transfers that are left and gives everything back to libcurl.
  private func endEverything() {
    for command in commands {
      guard case .start(let transfers) = command else { continue }
      for transfer in transfers { transfer.handler.finish(.cancelled) }
    }
    commands = []
    for slot in Array(running.values) { remove(slot, telling: .cancelled) }
    spare = []
    curl_multi_cleanup(multi)
  }
}

// MARK: Time

extension CurlLoop {
  private static let idleCheckInterval = Duration.seconds(1)

  /// While anything is in flight, the loop looks once a second who has heard nothing for too long.
  ///
  /// libcurl's own low-speed limit would set a timer for each transfer, and notices silence only
  /// when the average of five seconds has come down to nothing.
  private var timeToIdleCheck: Duration? {
    if running.isEmpty { return nil }
    return max(.zero, nextIdleCheck - now)
  }

  private func checkIdle() {
    if now < nextIdleCheck { return }
    nextIdleCheck = now + Self.idleCheckInterval
    for slot in running.values where slot.hasGoneIdle(at: now) {
      remove(slot, telling: slot.end(after: CURLE_OPERATION_TIMEDOUT))
    }
  }
}

// MARK: Sockets

extension CurlLoop {
  /// Lets libcurl open and close its sockets through the loop.
  ///
  /// A pooled connection outlives the slot that made it; so these are given the loop's address.
  func setSocketOptions(of easy: UnsafeMutableRawPointer) {
    let loop = Unmanaged.passUnretained(self).toOpaque()
    ccurl_set_opensocket(easy, openSocket)
    ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, loop)
    ccurl_set_closesocket(easy, closeSocket)
    ccurl_set_pointer(easy, CURLOPT_CLOSESOCKETDATA, loop)
  }

  fileprivate func didOpen(_ socket: curl_socket_t) {
    // A program that this one starts has no business with it.
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    driver.didOpen(socket)
  }

  fileprivate func willClose(_ socket: curl_socket_t) {
    driver.willClose(socket)
  }
}

private func openSocket(
  _ loop: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let loop, let address = address?.pointee else { return CURL_SOCKET_BAD }
  let descriptor = socket(address.family, address.socktype, address.protocol)
  if descriptor < 0 { return CURL_SOCKET_BAD }
  Unmanaged<CurlLoop>.fromOpaque(loop).takeUnretainedValue().didOpen(descriptor)
  return descriptor
}

private func closeSocket(_ loop: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
  guard let loop else { return 0 }
  Unmanaged<CurlLoop>.fromOpaque(loop).takeUnretainedValue().willClose(socket)
  return close(socket)
}

// MARK: Thread

extension CurlLoop {
  /// libcurl reads host names in the character set of the thread's locale, and a program's threads
  /// begin with one that knows ASCII alone.
  private func withUTF8(_ body: () -> Void) {
    guard let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) else { return body() }
    let previous = uselocale(locale)
    body()
    uselocale(previous)
    freelocale(locale)
  }
}
