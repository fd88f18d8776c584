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

  /// The transfer's address.
  private(set) var url = ""
  private(set) var scheme = Address.Scheme.http

  /// Where the transfer stands before libcurl works on it.
  var lookup = Lookup.none

  // These two change with every line of a head, and to have each access checked would cost as much as
  // the change. None can overlap another: all happen on the loop's thread, in calls of libcurl's
  // that are over before the next, and a handler has no way to its slot.

  /// Whether bytes of the answer have arrived since the last look.
  @exclusivity(unchecked) var hasHeard = false
  @exclusivity(unchecked) var head = HeadReader()

  var framing = BodyFraming.untilClose
  var decision = BodyDecision.accept
  var received: Int64 = 0
  var stop: Stop?

  /// Whether libcurl has asked a resolver for this transfer.
  var hasLookedUp = false

  /// Why no socket could be opened, if that was so.
  var socketError: CInt = 0

  /// Whether the loop counts bytes.
  let isBudgeted: Bool
  unowned let loop: CurlLoop

  private var began = Duration.zero
  private var patienceBegan = Duration.zero
  private var silentSince: Duration?
  private var idleTimeout: Duration = .zero
  private var totalTimeout: Duration?
  private var isSecondTry = false
  private var isRepeated = false
  private var isLastOfConnection = false

  let settings: TransportSettings
  private let errorText = UnsafeMutableBufferPointer<CChar>.allocate(
    capacity: Int(CURL_ERROR_SIZE))
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var bufferSize = 0
  private var connectTimeout = 0
  private var totalMilliseconds = 0
  private var usesNetrc = 0
  private var version = 0
  private var proxyScheme: Address.Scheme?

  /// Where a transfer stands that may need its host's name looked up.
  enum Lookup {
    /// It needs none, or has it behind it.
    case none
    /// It is not with libcurl yet, for another looks this host up.
    case waiting(String)
    /// It has this host's turn.
    case leading(String)
  }

  /// Why this side has ended the transfer before libcurl would have.
  enum Stop {
    case refused
    case enough
    case broken(String)
    case idle
    case late
    case endless
  }

  /// A body that is not wanted is read past up to this length, so that its connection lives on.
  static let discardedBytes: Int64 = 64 * 1024

  private static let longBody: Int64 = 128 * 1024

  /// Makes a handle and sets what is the same for every transfer.
  init?(loop: CurlLoop, settings: TransportSettings) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.loop = loop
    self.settings = settings
    isBudgeted = settings.bandwidth != nil
    errorText.initialize(repeating: 0)
    setCallbacks()
    ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText.baseAddress)
    settings.apply(to: easy)
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headers)
    errorText.deallocate()
  }
}

// MARK: A transfer begins

extension TransferSlot {
  /// Takes a transfer, or says why it cannot be made.
  ///
  /// libcurl makes a buffer anew for each transfer, and a large one costs a small answer dearly. So
  /// only a slot whose last body was long is given one: lists tend to be of a kind.
  func prepare(_ transfer: Transfer, buffers: ClosedRange<Int>) -> DownloadFailure? {
    let buffer = received > Self.longBody ? buffers.upperBound : buffers.lowerBound
    set(CURLOPT_BUFFERSIZE, to: buffer, keptIn: &bufferSize)
    handler = transfer.handler
    url = transfer.url
    idleTimeout = transfer.timeouts.idle.roundedUpToSeconds
    totalTimeout = transfer.timeouts.total
    isSecondTry = false
    isRepeated = false
    lookup = .none
    beginAnswer()

    guard let scheme = Address.scheme(of: url) else {
      let host = Address.host(of: url)
      return DownloadFailure(.badURL, "The address of \(host) is neither http nor https")
    }
    self.scheme = scheme
    setProxy(for: scheme)
    setVersion(settings.usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    let asksNetrc = transfer.usesNetrc && !Address.hasUser(url)
    let netrc = asksNetrc ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED
    set(CURLOPT_NETRC, to: netrc.rawValue, keptIn: &usesNetrc)
    let milliseconds = max(1, transfer.timeouts.connect.wholeMilliseconds)
    set(CURLOPT_CONNECTTIMEOUT_MS, to: milliseconds, keptIn: &connectTimeout)
    setTotalTimeout(to: totalTimeout)
    guard transfer.headers.isEmpty || setHeaders(transfer.headers) else {
      return .outOfMemory(for: url)
    }
    guard ccurl_set_string(easy, CURLOPT_URL, url) == CURLE_OK else {
      return DownloadFailure(.badURL, "The address of \(Address.host(of: url)) is too long")
    }
    return nil
  }

  /// Notes that libcurl begins to work on the transfer now; waiting for it counts in no timeout.
  func markBeginning() {
    began = loop.now
    patienceBegan = loop.awake
  }

  /// Sees to it that no other transfer is given the connection, if its streams have ends of their own:
  /// what is still on its way in a stream that is left early is not counted right by libcurl before 8.1,
  /// and in the end the server would be told of no more room.
  func leaveEarly() {
    guard settings.usesHTTP2 else { return }
    ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1)
    isLastOfConnection = true
  }

  private func keepConnection() {
    if isLastOfConnection { ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 0) }
    isLastOfConnection = false
  }

  /// Whether the transfer has taken longer than it may.
  var isLate: Bool {
    guard let totalTimeout else { return false }
    return loop.now - began > totalTimeout
  }

  /// Lets go of the transfer and returns its handler.
  func clear() -> (any TransferHandler)? {
    if isSecondTry { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 0) }
    keepConnection()
    if headers != nil { dropHeaders() }
    lookup = .none
    defer { handler = nil }
    return handler
  }

  /// Whether libcurl has the transfer, so that its time runs.
  var isWaiting: Bool {
    if case .waiting = lookup { true } else { false }
  }

  private func beginAnswer() {
    hasHeard = false
    silentSince = nil
    head = HeadReader()
    framing = .untilClose
    decision = .accept
    received = 0
    stop = nil
    hasLookedUp = false
    socketError = 0
  }

  private func set<Number: BinaryInteger>(
    _ option: CURLoption, to value: Number, keptIn current: inout Int
  ) {
    if Int(value) == current { return }
    ccurl_set_long(easy, option, Int(value))
    current = Int(value)
  }

  private func setVersion(_ version: some BinaryInteger) {
    set(CURLOPT_HTTP_VERSION, to: version, keptIn: &self.version)
  }

  private func setTotalTimeout(to duration: Duration?) {
    let milliseconds = duration.map { max(1, $0.wholeMilliseconds) } ?? 0
    set(CURLOPT_TIMEOUT_MS, to: milliseconds, keptIn: &totalMilliseconds)
  }

  private func setProxy(for scheme: Address.Scheme) {
    if proxyScheme == scheme { return }
    proxyScheme = scheme
    let proxy = scheme == .https ? settings.proxies.https : settings.proxies.http
    if let proxy { ccurl_set_string(easy, CURLOPT_PROXY, proxy) }
    // As long as this is set, be it empty, libcurl looks for nothing in the environment.
    ccurl_set_string(easy, CURLOPT_NOPROXY, proxy == nil ? "*" : settings.proxies.exceptions)
  }

  /// Gives libcurl a list of its own, which lives as long as the transfer.
  private func setHeaders(_ fields: [HeaderField]) -> Bool {
    for field in fields where !field.isAboutBody {
      // A field without a value would be taken for the wish to leave a field out.
      let line = field.value.isEmpty ? "\(field.name);" : field.line
      guard let list = curl_slist_append(headers, line) else { return false }
      headers = list
    }
    return ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK
  }

  private func dropHeaders() {
    ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, nil)
    curl_slist_free_all(headers)
    headers = nil
  }
}

// MARK: A transfer begins again

extension TransferSlot {
  /// Whether the transfer is to be tried once more, on another connection; it is ready for it then.
  func mustBeginAgain(after result: CURLcode) -> Bool {
    if case .endless = stop {
      isRepeated = true
      setVersion(CURL_HTTP_VERSION_1_1)
    } else if needsFreshConnection(after: result) {
      isSecondTry = true
      ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1)
    } else {
      return false
    }
    keepConnection()
    if let totalTimeout { setTotalTimeout(to: totalTimeout - (loop.now - began)) }
    beginAnswer()
    return true
  }

  /// A pooled connection may have died in silence, which shows when a request is sent on it.
  ///
  /// libcurl tries again by itself, but counts these tries over the whole life of a handle, and every sixth
  /// is one too many. Or the rest of an earlier answer, longer than announced, was still on its
  /// way, and stands where the answer should begin.
  private func needsFreshConnection(after result: CURLcode) -> Bool {
    !isSecondTry && head.isUntouched && stop == nil && result.mayBeTheConnectionsFault
      && number(CURLINFO_NUM_CONNECTS) == 0
  }

  /// Whether an answer in frames is to be asked for by HTTP/1.1.
  ///
  /// The end of a stream is told by a flag in its last frame, and libcurl does not say whether there
  /// was one: a stream that was reset without an error looks whole. A length tells; without one,
  /// only HTTP/1.1 has an end that shows.
  func isEndless(_ answer: ResponseHead) -> Bool {
    head.isFramed && answer.framing == .untilClose && 200..<300 ~= answer.status && !isRepeated
  }
}

// MARK: What libcurl knows of a transfer

extension TransferSlot {
  /// Looks whether nothing of the answer has arrived for too long; done once a second.
  ///
  /// Connecting has a timeout of its own.
  func hasGoneIdle(at now: Duration) -> Bool {
    if isWaiting { return false }
    if hasHeard {
      hasHeard = false
      silentSince = now
    }
    guard let since = silentSince ?? requestSent, now - since >= idleTimeout else { return false }
    stop = .idle
    return true
  }

  /// When the request was sent, as soon as it has been.
  private var requestSent: Duration? {
    var microseconds: curl_off_t = 0
    ccurl_get_off_t(easy, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
    return microseconds > 0 ? patienceBegan + .microseconds(microseconds) : nil
  }

  /// A number that libcurl knows of the transfer.
  func number(_ info: CURLINFO) -> Int {
    var value = 0
    ccurl_get_long(easy, info, &value)
    return value
  }

  /// Whether libcurl's own words for what went wrong have these in them.
  ///
  /// They are never shown, since they may hold the address, and with it a password.
  func errorMentions(_ words: String) -> Bool {
    guard let text = errorText.baseAddress else { return false }
    return String(cString: text).contains(words)
  }
}

extension HeaderField {
  /// Whether the field describes a body, which a GET has none of.
  ///
  /// A server would wait for it, and take the next request for its first bytes.
  fileprivate var isAboutBody: Bool {
    let name = name.lowercased()
    return name == "content-length" || name == "transfer-encoding"
  }
}
