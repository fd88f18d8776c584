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
/// `@unchecked Sendable`: after `init`, its state is touched by the loop's thread only; `inbox`,
/// `rounds` and `lookupCount` are constants and safe by themselves.
final class CurlLoop: @unchecked Sendable {
  let inbox: Inbox

  /// How many times the loop has waited; what an idle loop is judged by.
  let rounds = Atomic(0)

  /// How many names libcurl has looked up, or begun to.
  let lookupCount = Atomic(0)

  /// The time of this round, read once in it, from the loop's beginning on.
  private(set) var now = Duration.zero

  /// The same without the time in which the loop rested, for those who wait for bytes that it did
  /// not read.
  private(set) var awake = Duration.zero

  /// Whether bytes are counted.
  private let isBudgeted: Bool

  let multi: UnsafeMutableRawPointer
  let driver: any LoopDriver
  let settings: TransportSettings

  var running: [ObjectIdentifier: TransferSlot] = [:]
  var spare: [TransferSlot] = []
  var slotCount = 0
  var lookups: Lookups
  /// Whose host is known since the last look: libcurl may not be called from where that is learnt.
  var lookedUp: [TransferSlot] = []

  private var commands: [Inbox.Command] = []
  private let start = ContinuousClock.now
  private var nextIdleCheck = Duration.zero
  private var budget: ByteBudget?
  /// Whether something has come up in this round that shall not wait until everything is paid for.
  private var isCalled = false

  /// How large a buffer may be: for many short bodies, and for long ones.
  private(set) var buffers = (16 * 1024)...longestBuffer

  /// What a processor's cache holds; larger ones made long bodies slower.
  private static let longestBuffer = 128 * 1024

  /// How large all long buffers may be together.
  private static let bufferBudget = 8 * 1024 * 1024

  init(driver kind: CurlTransport.Driver, settings: TransportSettings) throws(CurlTransportError) {
    guard CurlLibrary.isReady, let multi = curl_multi_init() else {
      throw CurlTransportError("libcurl could not be set up")
    }
    self.multi = multi
    self.settings = settings
    isBudgeted = settings.bandwidth != nil
    do {
      driver = try kind.make(for: multi)
    } catch {
      curl_multi_cleanup(multi)
      throw error
    }
    inbox = Inbox(wake: driver.makeBell())
    // By HTTP/2, libcurl 7.88 gives bytes of one stream to another when several share a connection.
    ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING)
    lookups = Lookups(proxies: settings.proxies)
    if let bandwidth = settings.bandwidth {
      let budget = ByteBudget(rate: bandwidth, at: .zero)
      let buffer = budget.buffer(within: 1024...buffers.lowerBound)
      buffers = buffer...buffer
      self.budget = budget
    }
  }

  /// Works until the inbox is closed: all that the loop's thread does.
  func run() {
    withUTF8 {
      while round() {}
      endEverything()
    }
  }

  /// Takes a command from a handler that is being called by this loop.
  ///
  /// What other threads have asked for before comes before; a cancellation must not overtake the
  /// start that it means.
  func post(_ command: Inbox.Command) {
    if case .cancel = command { _ = inbox.take(into: &commands) }
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
    wait()
    isCalled = false
    rounds.add(1, ordering: .relaxed)
    guard inbox.take(into: &commands) else { return false }

    work()
    checkIdle()
    if commands.isEmpty { return true }
    driver.dropUnfitConnections()
    runCommands()
    work()
    return true
  }

  private func wait() {
    let mayRest = commands.isEmpty && inbox.fallAsleep()
    if isBudgeted, let debt = budget?.debt(at: .now - start) {
      _ = rest(atMost: mayRest ? min(debt, driver.timeToTimer ?? debt) : .zero)
    } else {
      driver.wait(atMost: mayRest ? timeToIdleCheck : .zero)
      passTime()
    }
  }

  /// Takes note of time that went by while the loop worked or waited for its sockets.
  private func passTime() {
    let last = now
    now = .now - start
    awake += now - last
  }

  private func work() {
    let time = now
    driver.perform { [self] in mayRead(since: time) }
    // First, so that whoever has ended since has not failed for want of an address.
    if !lookedUp.isEmpty { endLookups() }
    finishEnded()
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

// MARK: Time and bytes

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
    for slot in running.values where slot.hasGoneIdle(at: awake) {
      remove(slot, telling: slot.end(after: CURLE_OPERATION_TIMEDOUT))
    }
  }

  /// Counts bytes that have arrived.
  func spend(_ bytes: Int) {
    budget?.spend(bytes, at: .now - start)
  }

  /// Rests while more is owed than the bandwidth allows.
  ///
  /// The loop reads nothing from anybody then, and so servers are slowed down by TCP itself. It rests
  /// here, while libcurl is reading from a socket, because libcurl would read a hundred times before it
  /// came back. (A transfer that is paused is read from as well, and loses bytes in HTTP/2.) When a
  /// command ends the rest, libcurl goes on, and what it reads is owed until the next.
  func payDebt() {
    let time = ContinuousClock.now - start
    guard !isCalled, let debt = budget?.debt(at: time), debt >= Self.shortestRest else { return }
    isCalled = !(commands.isEmpty && inbox.fallAsleep() && rest(atMost: debt))
  }

  private static let shortestRest = Duration.milliseconds(2)

  /// Lets time go by that counts for nobody who waits for bytes; returns whether nothing has come up.
  private func rest(atMost limit: Duration) -> Bool {
    passTime()
    defer { now = .now - start }
    return driver.rest(atMost: limit)
  }

  /// Whether one more socket may be read from in this round, which began at a time.
  private func mayRead(since time: Duration) -> Bool {
    !isBudgeted || budget?.debt(at: .now - start) == nil && now - time < Self.longestRound
  }

  private static let longestRound = Duration.milliseconds(100)

  /// Divides the room for buffers anew when there are more slots.
  func shareBuffers() {
    if budget != nil { return }
    let share = Self.bufferBudget / slotCount
    buffers = buffers.lowerBound...max(buffers.lowerBound, min(Self.longestBuffer, share))
  }
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
