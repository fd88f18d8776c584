// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import Observation
import Synchronization
import TestSupport
import Testing

@testable import BatchwiseUI

@Suite("What observers of a batch are told", .timeLimit(.minutes(1)))
@MainActor
struct ObservationTests {
  /// Counts how often an observer is told, who looks again each time.
  @MainActor
  private final class Told {
    private(set) var times = 0

    init(_ look: @escaping @MainActor () -> Void) { again(look) }

    private func again(_ look: @escaping @MainActor () -> Void) {
      withObservationTracking {
        look()
      } onChange: { [weak self] in
        MainActor.assumeIsolated {
          self?.times += 1
          Task { self?.again(look) }
        }
      }
    }
  }

  @Test("A row tells only those who have read it, and the list of rows only of further rows")
  func rowByRow() async throws {
    let gates = [Gate(), Gate()]
    let look = try Look(urls(0..<2), limit: 2) { url in
      await gates[url.hasSuffix("0") ? 0 : 1].pass()
      return .file(url)
    }
    let batch = try #require(look.batch)
    let first = Told { _ = batch.rows[0].state }
    let list = Told { _ = batch.rows.count }
    batch.start()
    await batch.wait { $0.kinds == [.inFlight, .inFlight] }
    let before = first.times
    gates[1].open()
    await batch.wait { $0.kinds == [.inFlight, .done] }
    #expect(first.times == before && before > 0)
    gates[0].open()
    await batch.wait { $0.phase == .done }
    #expect(first.times > before && list.times == 0)
    batch.add(["http://h/3"])
    #expect(list.times == 1)
  }

  @Test("A changed limit is told, and one that is set to what it is already is not")
  func limit() async throws {
    let look = try Look([], limit: 3) { .file($0) }
    let batch = try #require(look.batch)
    let told = Told { _ = batch.limit }
    batch.limit = 3
    #expect(told.times == 0)
    batch.limit = 4
    #expect(told.times == 1)
  }

  @Test("However much happens, it is looked at once in a tenth of a second; while idle never")
  func pace() async throws {
    let clock = ManualClock()
    let isOpen = Watched(false)
    let look = try Look(urls(0..<500), limit: 5, clock: clock) { url in
      if url.hasSuffix("/499") { await isOpen.wait { $0 } }
      return .file(url)
    }
    let batch = try #require(look.batch)
    batch.start()
    await look.transport.record.wait { $0.urls.count == 500 && $0.inFlight == 1 }
    await clock.waitForSleepers(1)
    // One look each for being made, for the start, and for the follower's first round.
    #expect(batch.looks == 3 && batch.status.done < 500)
    var rounds = 0
    while batch.status.done < 499 {
      clock.advance(by: DownloadBatch.pace)
      await clock.waitForSleepers(1)
      rounds += 1
    }
    #expect(batch.looks == 3 + rounds)
    #expect(clock.deadlines.map(\.sinceStart) == [DownloadBatch.pace * (rounds + 1)])
    isOpen.update { $0 = true }
    await look.transport.record.wait { $0.inFlight == 0 }
    while batch.phase != .done {
      if clock.sleeperCount > 0 { clock.advance(by: DownloadBatch.pace) }
      await Task.yield()
    }
    // Nothing is in flight any more. One who went on looking would sleep again and again, and this would not end.
    let looks = batch.looks
    var quiet = 0
    while quiet < 1000 {
      quiet = clock.sleeperCount > 0 ? 0 : quiet + 1
      if quiet == 0 { clock.advance(by: DownloadBatch.pace) }
      await Task.yield()
    }
    #expect(batch.looks <= looks + 2)
  }

  @Test("Bytes that arrive are shown while a request is in flight, and no more after it")
  func bytes() async throws {
    let folder = try TemporaryFolder()
    let transport = HeldTransport(pieces: [[1, 2, 3], [4], [5, 6, 7, 8]])
    let batch = DownloadBatch(
      urls(0..<1), to: try OutputFolder(path: folder.path), limit: 1, transport: transport)
    batch.start()
    await batch.wait { $0.rows[0].transfer?.received == 3 }
    #expect(batch.rows[0].transfer == .init(received: 3, total: 8))
    #expect(batch.rows[0].transfer?.fraction == 0.375 && batch.status.fraction == 0.375)
    transport.gates[1].open()
    await batch.wait { $0.rows[0].transfer?.received == 4 && $0.status.received == 4 }
    transport.gates[2].open()
    await batch.wait { $0.phase == .done }
    #expect(batch.rows[0].transfer == nil && batch.status.received == 8)
    #expect(folder["0"] == [1, 2, 3, 4, 5, 6, 7, 8])
  }

  @Test("Ten thousand rows are done, and who reads the list or one row hears nothing of the others")
  func many() async throws {
    let gate = Gate()
    let look = try Look(urls(0..<10_000), limit: 8, thumbnailBytes: 0) { url in
      if url.hasSuffix("/0") { await gate.pass() }
      return .file(url)
    }
    let batch = try #require(look.batch)
    let list = Told { _ = batch.rows.count }
    batch.start()
    await batch.wait { $0.rows[0].kind == .inFlight }
    let first = Told { _ = (batch.rows[0].state, batch.rows[0].thumbnail) }
    await batch.wait { $0.status.done == 9_999 }
    #expect(first.times == 0 && list.times == 0)
    gate.open()
    await batch.wait { $0.phase == .done }
    #expect(first.times == 1 && list.times == 0)
  }
}

/// A transport that hands over a body piece by piece, each when its gate is open; the first one is.
final class HeldTransport: Transport {
  let gates: [Gate]
  private let pieces: [[UInt8]]

  init(pieces: [[UInt8]]) {
    self.pieces = pieces
    gates = pieces.map { _ in Gate() }
    gates.first?.open()
  }

  func start(_ transfers: [Transfer]) {
    let length = Int64(pieces.reduce(0) { $0 + $1.count })
    for transfer in transfers {
      Task { [gates, pieces] in
        let handler = transfer.handler
        _ = handler.receive(head: ResponseHead(status: 200, framing: .length(length)))
        for (gate, piece) in zip(gates, pieces) {
          await gate.pass()
          _ = piece.withUnsafeBytes(handler.receive(body:))
        }
        handler.finish(.complete)
      }
    }
  }

  func cancel(_ handler: any TransferHandler) {}
}
