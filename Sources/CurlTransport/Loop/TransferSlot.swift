// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCurl

/// One of libcurl's easy handles and the transfer it carries, if it carries one.
///
/// Making a handle and setting its options costs more than a small transfer, so slots are kept and
/// used again; for each transfer only what differs is set. libcurl holds a slot's address, which
/// is why it is a class.
final class TransferSlot {
  /// libcurl's handle.
  let easy: UnsafeMutableRawPointer

  /// Who receives the answer, while there is a transfer.
  private(set) var handler: (any TransferHandler)?

  /// Moves when bytes of the answer arrive: the loop's clock at that moment.
  private(set) var heard: ContinuousClock.Instant?

  /// The transfer's address.
  private(set) var url = ""

  private var begun: ContinuousClock.Instant
  private var idleTimeout: Duration = .zero
  private var head = HeadReader()
  private var framing = BodyFraming.untilClose
  private var decision = BodyDecision.accept
  private var received: Int64 = 0
  private var stop: Stop?
  private var isSecondTry = false

  private let proxies: ProxySettings
  private var bufferSize = 0
  private var connectTimeout = 0
  private var usesHTTPS: Bool?
  private unowned let loop: CurlLoop

  /// Why this side has ended the transfer before libcurl would have.
  private enum Stop {
    case refused
    case enough
    case broken(String)
    case idle
  }

  /// A body that is not wanted is read past up to this length, so that its connection lives on.
  private static let discardedBytes: Int64 = 64 * 1024

  private static let shortBuffer = 16 * 1024
  private static let longBody: Int64 = 128 * 1024

  /// Makes a handle and sets what is the same for every transfer.
  init?(loop: CurlLoop, userAgent: String?, proxies: ProxySettings) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.loop = loop
    self.proxies = proxies
    self.begun = loop.now
    setLastingOptions(userAgent: userAgent)
  }

  deinit { curl_easy_cleanup(easy) }
}

// MARK: Options

extension TransferSlot {
  private func setLastingOptions(userAgent: String?) {
    let slot = Unmanaged.passUnretained(self).toOpaque()
    ccurl_set_pointer(easy, CURLOPT_PRIVATE, slot)
    ccurl_set_write(easy, CURLOPT_HEADERFUNCTION, receiveHeadLine)
    ccurl_set_pointer(easy, CURLOPT_HEADERDATA, slot)
    ccurl_set_write(easy, CURLOPT_WRITEFUNCTION, receiveBody)
    ccurl_set_pointer(easy, CURLOPT_WRITEDATA, slot)
    loop.setSocketOptions(of: easy)

    ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    // HTTP/2 in libcurl before 8.1 may call a body whole that a reset has cut off.
    ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // The address in the list is the one that is asked for, dots and all: it is what the journal
    // and the server's log know, and an address that was signed is no longer valid once changed.
    ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    // The answer of a proxy to CONNECT is no answer to the request.
    ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Pooled connections that have been silent for long may be dead without knowing it.
    ccurl_set_long(easy, CURLOPT_MAXAGE_CONN, 30)
    // Without this, ending a transfer whose name is being looked up would block the loop until
    // the lookup is over. The thread that does it frees what it holds when it is done.
    ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    if let userAgent { ccurl_set_string(easy, CURLOPT_USERAGENT, userAgent) }
  }

  /// Takes a transfer, or says why it cannot be made.
  ///
  /// libcurl makes a buffer anew for each transfer, and a large one costs a small answer dearly. So
  /// only a slot whose last body was long is given one: lists tend to be of a kind.
  func prepare(_ transfer: Transfer, longBuffer: Int) -> DownloadFailure? {
    let buffer = received > Self.longBody ? longBuffer : Self.shortBuffer
    set(CURLOPT_BUFFERSIZE, to: buffer, keptIn: &bufferSize)
    handler = transfer.handler
    url = transfer.url
    idleTimeout = transfer.timeouts.idle.roundedUpToSeconds
    begun = loop.now
    heard = nil
    head = HeadReader()
    framing = .untilClose
    decision = .accept
    received = 0
    stop = nil
    isSecondTry = false

    guard let scheme = Address.scheme(of: url) else {
      let host = Address.host(of: url)
      return DownloadFailure(.badURL, "The address of \(host) is neither http nor https.")
    }
    setProxy(for: scheme)
    let milliseconds = max(1, transfer.timeouts.connect.wholeMilliseconds)
    set(CURLOPT_CONNECTTIMEOUT_MS, to: milliseconds, keptIn: &connectTimeout)
    guard ccurl_set_string(easy, CURLOPT_URL, url) == CURLE_OK else {
      return DownloadFailure(.badURL, "The address of \(Address.host(of: url)) is too long.")
    }
    return nil
  }

  /// Lets go of the transfer and returns its handler.
  func clear() -> (any TransferHandler)? {
    if isSecondTry { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 0) }
    defer { handler = nil }
    return handler
  }

  private func set(_ option: CURLoption, to value: Int, keptIn current: inout Int) {
    if value == current { return }
    ccurl_set_long(easy, option, value)
    current = value
  }

  private func setProxy(for scheme: Address.Scheme) {
    let isHTTPS = scheme == .https
    if usesHTTPS == isHTTPS { return }
    usesHTTPS = isHTTPS
    let proxy = isHTTPS ? proxies.https : proxies.http
    if let proxy { ccurl_set_string(easy, CURLOPT_PROXY, proxy) }
    // As long as this is set, be it empty, libcurl looks for nothing in the environment.
    ccurl_set_string(easy, CURLOPT_NOPROXY, proxy == nil ? "*" : proxies.exceptions)
  }
}

// MARK: The answer

extension TransferSlot {
  /// Reads a line of the head; returns whether the transfer goes on.
  fileprivate func receive(headLine line: UnsafeRawBufferPointer) -> Bool {
    heard = loop.now
    switch head.read(line: line) {
    case .more: return true
    case .broken(let what): return end(with: .broken(what))
    case .head(let head):
      framing = head.framing
      decision = handler?.receive(head: head) ?? .discard
      return decision == .accept || isShort(head.framing) || end(with: .enough)
    }
  }

  /// Passes on the next bytes of the body; returns whether the transfer goes on.
  fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    heard = loop.now
    received += Int64(bytes.count)
    if !head.isComplete { return end(with: .broken("it has a body before its head is over")) }
    switch decision {
    case .accept: return handler?.receive(body: bytes) == true || end(with: .refused)
    case .discard: return received <= Self.discardedBytes || end(with: .enough)
    }
  }

  /// Whether it is worth while to read past a body that nobody wants.
  private func isShort(_ framing: BodyFraming) -> Bool {
    switch framing {
    case .length(let count): count <= Self.discardedBytes
    case .chunked: true
    case .untilClose: false
    }
  }

  private func end(with reason: Stop) -> Bool {
    stop = reason
    return false
  }
}

private func receiveHeadLine(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ slot: UnsafeMutableRawPointer?
) -> Int {
  guard let slot else { return 0 }
  let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  let goesOn = TransferSlot.at(slot).receive(headLine: line)
  return goesOn ? line.count : 0
}

private func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ slot: UnsafeMutableRawPointer?
) -> Int {
  guard let slot else { return 0 }
  let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
  if body.isEmpty { return 0 }
  let goesOn = TransferSlot.at(slot).receive(body: body)
  return goesOn ? body.count : 0
}

// MARK: The end

extension TransferSlot {
  /// The slot that libcurl was given the address of.
  static func at(_ address: UnsafeMutableRawPointer) -> TransferSlot {
    Unmanaged<TransferSlot>.fromOpaque(address).takeUnretainedValue()
  }

  /// Whether nothing of the answer has arrived for too long.
  ///
  /// Connecting has a timeout of its own.
  func hasGoneIdle(at now: ContinuousClock.Instant) -> Bool {
    let since = heard ?? requestSent
    guard let since, now - since >= idleTimeout else { return false }
    stop = .idle
    return true
  }

  /// When the request was sent, as soon as it has been.
  private var requestSent: ContinuousClock.Instant? {
    var microseconds: curl_off_t = 0
    ccurl_get_off_t(easy, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
    return microseconds > 0 ? begun.advanced(by: .microseconds(microseconds)) : nil
  }

  /// Whether the transfer is to be tried once more, on a new connection.
  ///
  /// A pooled connection may have died in silence, which shows when a request is sent on it. libcurl
  /// tries again by itself, but counts these tries over the whole life of a handle, and every sixth
  /// is one too many. Or the rest of an earlier answer, longer than announced, was still on its
  /// way, and stands where the answer should begin.
  func needsFreshConnection(after result: CURLcode) -> Bool {
    guard !isSecondTry, head.isUntouched, stop == nil, result.mayBeTheConnectionsFault,
      number(CURLINFO_NUM_CONNECTS) == 0
    else { return false }
    isSecondTry = true
    begun = loop.now
    ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1)
    return true
  }

  /// What the handler is told, now that libcurl is done with the transfer.
  func end(after result: CURLcode) -> TransferEnd {
    switch stop {
    case .refused: return .cancelled
    case .enough: return wholeAnswer
    case .broken(let what): return .failed(.brokenAnswer(of: host, what))
    case .idle:
      return .failed(DownloadFailure(.timeout, "Nothing came from \(host) for too long."))
    case nil: break
    }
    // Whether the rest of an unwanted body arrives whole is of no interest.
    if head.isComplete && decision == .discard { return wholeAnswer }
    guard result == CURLE_OK else { return .failed(failure(result)) }
    guard head.isComplete else { return .failed(.brokenAnswer(of: host, "it has no end")) }
    if case .length(let count) = framing, count != received {
      return .failed(failure(CURLE_PARTIAL_FILE))
    }
    return wholeAnswer
  }

  private var wholeAnswer: TransferEnd {
    guard let location = head.location else { return .complete }
    guard let target = Address.resolve(location, against: url) else {
      return .failed(
        DownloadFailure(.redirect, "\(host) redirects to an address that cannot be read."))
    }
    return .redirect(to: target)
  }

  private func failure(_ code: CURLcode) -> DownloadFailure {
    // A chunk that breaks the rules has the code of a broken connection, but no system error.
    if code == CURLE_RECV_ERROR, framing == .chunked, usesHTTPS == false,
      number(CURLINFO_OS_ERRNO) == 0
    {
      return .brokenAnswer(of: host, "its body is no series of chunks")
    }
    return .transfer(
      code, host: host, systemError: CInt(truncatingIfNeeded: number(CURLINFO_OS_ERRNO)),
      hasSentRequest: number(CURLINFO_REQUEST_SIZE) > 0)
  }

  private var host: String { Address.host(of: url) }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    ccurl_get_long(easy, info, &value)
    return value
  }
}

extension CURLcode {
  fileprivate var mayBeTheConnectionsFault: Bool {
    switch self {
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR: true
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: true
    // A line too long for a head; newer versions have a code of its own for it.
    case CURLE_OUT_OF_MEMORY, CURLcode(rawValue: 100): true
    default: false
    }
  }
}

extension Duration {
  fileprivate var roundedUpToSeconds: Duration {
    .seconds(max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0)))
  }

  fileprivate var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    let milliseconds = min(seconds, 1_000_000) * 1000 + attoseconds / 1_000_000_000_000_000
    return Int(milliseconds)
  }
}
