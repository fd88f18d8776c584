// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDispatch
internal import Synchronization

/// The room for bodies in memory, and the whole bodies that nobody has taken yet.
///
/// Room is reserved before anything is held. Where bodies are let go of while the run goes on, a
/// transfer that finds no room waits for it, in the order in which they came; where they stay to the
/// end, waiting would be in vain.
final class BodyStore: Sendable {
  private let guarded: Mutex<Guarded>

  private struct Guarded {
    var room: BodyRoom
    var waiters: [Int: @Sendable (_ isGranted: Bool) -> Void] = [:]
    /// Whole bodies, by the numbers of their items.
    var bodies: [Int: HeldBody] = [:]
  }

  /// Makes room for so many bytes.
  ///
  /// - Parameters:
  ///   - capacity: The most bytes of all bodies that are held.
  ///   - limit: How many transfers may be in flight, among which the room is shared out.
  ///   - staysFull: Whether no body is let go of before the run ends.
  init(capacity: Int, limit: Int, staysFull: Bool) {
    guarded = Mutex(
      Guarded(room: BodyRoom(capacity: capacity, limit: limit, staysFull: staysFull)))
  }

  /// What is held and reserved, at this moment.
  var room: BodyRoom { guarded.withLock { $0.room } }

  /// Reserves room for a request that has not been sent, as far as its body's length can be guessed.
  ///
  /// - Parameters:
  ///   - length: The length, if it is known.
  ///   - id: The item's number.
  ///   - later: Called when there is room, or when the waiting is ended.
  /// - Returns: How many bytes are reserved now; nil if `later` will be called.
  func reserve(
    _ length: Int64?, for id: Int, _ later: @escaping @Sendable (_ reserved: Int?) -> Void
  ) -> Int? {
    let (bytes, decision) = guarded.withLock { guarded -> (Int, BodyRoom.Decision) in
      let bytes = guarded.room.guess(length)
      let decision = guarded.room.reserve(bytes, for: id)
      if decision == .waits { guarded.waiters[id] = { later($0 ? bytes : nil) } }
      return (bytes, decision)
    }
    switch decision {
    case .granted: return bytes
    case .waits: return nil
    case .refused:
      later(nil)
      return nil
    }
  }

  /// Reserves further room for a body that is coming, if there is some.
  func grow(by bytes: Int) -> Bool { guarded.withLock { $0.room.grow(by: bytes) } }

  /// Gives room back.
  func release(_ bytes: Int) {
    guard bytes > 0 else { return }
    act { $0.release(bytes) }
  }

  /// Ends the waiting of an item, if it waits.
  func cancel(_ id: Int) {
    let waiter = guarded.withLock { guarded in
      guarded.room.cancel(id)
      return guarded.waiters.removeValue(forKey: id)
    }
    waiter?(false)
    // Those behind it may need less.
    act { _ in }
  }

  /// Ends all waiting, now and later.
  func close() {
    let waiters = guarded.withLock { guarded in
      guarded.room.close()
      return exchange(&guarded.waiters, with: [:])
    }
    for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter(false) }
  }

  /// Keeps a whole body until it is taken.
  func keep(_ body: HeldBody, for id: Int) {
    guarded.withLock { guarded in
      guarded.bodies[id] = body
      guarded.room.note(length: body.data.count)
    }
  }

  /// Hands a whole body over.
  func take(_ id: Int) -> HeldBody? { guarded.withLock { $0.bodies.removeValue(forKey: id) } }

  private func act(_ change: (inout BodyRoom) -> Void) {
    let granted = guarded.withLock { guarded in
      change(&guarded.room)
      return guarded.room.admit().compactMap { guarded.waiters.removeValue(forKey: $0) }
    }
    // Room is given back wherever a body is let go of, perhaps under somebody's lock.
    for waiter in granted { Self.queue.async { waiter(true) } }
  }

  private static let queue = BoundedDispatchQueue(label: "batchwise.room", limit: 1)
}

/// Who may hold how much: the rule behind ``BodyStore``, a value without a lock.
struct BodyRoom: Sendable {
  /// What becomes of a wish for room.
  enum Decision: Sendable, Equatable {
    case granted, waits, refused
  }

  /// The most bytes that are held and reserved.
  let capacity: Int
  /// How much one of many transfers may count on.
  private let share: Int
  /// Whether nothing is given back by bodies that are whole.
  let staysFull: Bool
  /// The bytes that are held and reserved.
  private(set) var taken = 0
  /// The longest body so far; nil before the first.
  private var longest: Int?
  private var waiting: [(id: Int, bytes: Int)] = []
  private var isClosed = false

  init(capacity: Int, limit: Int, staysFull: Bool) {
    precondition(capacity >= 0, "Room for \(capacity) bytes: there cannot be less than none")
    self.capacity = capacity
    self.staysFull = staysFull
    share = capacity / max(1, limit)
  }

  /// How many wait for room.
  var waitingCount: Int { waiting.count }

  /// What to reserve for a request before its answer tells.
  ///
  /// Lists tend to be of a kind, so the longest body so far is a good guess; more than its share none
  /// takes without knowing.
  func guess(_ length: Int64?) -> Int {
    if staysFull { return 0 }
    if let length { return Int(clamping: min(length, Int64(capacity))) }
    return min(share, longest ?? share)
  }

  /// Wishes for room that is given all at once, after those who came before.
  mutating func reserve(_ bytes: Int, for id: Int) -> Decision {
    if isClosed { return .refused }
    if waiting.isEmpty, grow(by: bytes) { return .granted }
    waiting.append((id, bytes))
    return .waits
  }

  /// Takes more for somebody who holds some already; they may pass those who hold none.
  mutating func grow(by bytes: Int) -> Bool {
    guard bytes <= capacity - taken else { return false }
    taken += bytes
    return true
  }

  /// Gives room back.
  mutating func release(_ bytes: Int) { taken -= bytes }

  /// Those whose turn it is now, with their room.
  mutating func admit() -> [Int] {
    var admitted: [Int] = []
    while let first = waiting.first, grow(by: first.bytes) {
      waiting.removeFirst()
      admitted.append(first.id)
    }
    return admitted
  }

  /// Takes one out that waits no longer.
  mutating func cancel(_ id: Int) { waiting.removeAll { $0.id == id } }

  /// Lets nobody wait from now on.
  mutating func close() {
    isClosed = true
    waiting = []
  }

  /// Notes the length of a whole body.
  mutating func note(length: Int) { longest = max(longest ?? 0, length) }
}
