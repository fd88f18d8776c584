// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct BodyRoomTests {
  @Test(
    "Wishes are granted in the order in which they came, all at once, and never beyond the room")
  func order() {
    var room = BodyRoom(capacity: 10, limit: 2, staysFull: false)
    #expect(room.reserve(6, for: 1) == .granted)
    #expect(room.reserve(6, for: 2) == .waits)
    #expect(room.reserve(1, for: 3) == .waits, "It would fit, and does not overtake")
    #expect(room.grow(by: 4) && !room.grow(by: 1), "Those who hold some may pass")
    room.release(4)
    #expect(room.admit() == [])
    room.release(6)
    #expect(room.admit() == [2, 3])
    #expect(room.taken == 7)
  }

  @Test("One that goes away lets those behind it pass")
  func cancelled() {
    var room = BodyRoom(capacity: 10, limit: 2, staysFull: false)
    #expect(room.reserve(5, for: 1) == .granted)
    #expect(room.reserve(10, for: 2) == .waits)
    #expect(room.reserve(5, for: 3) == .waits)
    room.cancel(2)
    #expect(room.admit() == [3])
    room.close()
    #expect(room.reserve(0, for: 4) == .refused)
  }

  @Test("What is not known is guessed by the longest so far, and never beyond a fair share")
  func guesses() {
    var room = BodyRoom(capacity: 100, limit: 4, staysFull: false)
    #expect(room.guess(nil) == 25)
    #expect(room.guess(7) == 7 && room.guess(1000) == 100)
    room.note(length: 3)
    #expect(room.guess(nil) == 3)
    room.note(length: 70)
    room.note(length: 4)
    #expect(room.guess(nil) == 25)
    #expect(BodyRoom(capacity: 100, limit: 4, staysFull: true).guess(50) == 0)
  }

  @Test("Held and waiting agree with a naive model, over random wishes", arguments: 0..<50)
  func model(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var room = BodyRoom(capacity: 50, limit: 3, staysFull: false)
    var held: [Int: Int] = [:]
    var waiting: [(id: Int, bytes: Int)] = []
    for id in 0..<400 {
      switch Int.random(in: 0..<5, using: &generator) {
      case 0, 1:
        let bytes = Int.random(in: 0...50, using: &generator)
        let fits = waiting.isEmpty && held.values.reduce(0, +) + bytes <= 50
        #expect(room.reserve(bytes, for: id) == (fits ? .granted : .waits))
        if fits { held[id] = bytes } else { waiting.append((id, bytes)) }
      case 2:
        guard let (id, bytes) = held.min(by: { $0.key < $1.key }) else { continue }
        let more = Int.random(in: 0...50 - bytes, using: &generator)
        let fits = held.values.reduce(0, +) + more <= 50
        #expect(room.grow(by: more) == fits)
        if fits { held[id] = bytes + more }
      case 3:
        guard let (id, bytes) = held.max(by: { $0.key < $1.key }) else { continue }
        held[id] = nil
        room.release(bytes)
      default:
        guard let gone = waiting.randomElement(using: &generator) else { continue }
        waiting.removeAll { $0.id == gone.id }
        room.cancel(gone.id)
      }
      var admitted: [Int] = []
      while let first = waiting.first, held.values.reduce(0, +) + first.bytes <= 50 {
        waiting.removeFirst()
        held[first.id] = first.bytes
        admitted.append(first.id)
      }
      #expect(room.admit() == admitted)
      #expect(room.taken == held.values.reduce(0, +) && room.taken <= 50)
      #expect(room.waitingCount == waiting.count)
    }
  }
}
