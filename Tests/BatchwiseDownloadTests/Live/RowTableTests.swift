// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import Testing

@testable import BatchwiseDownload

extension RowTable {
  fileprivate var rows: [DownloadRow] { rows(nil, from: 0, atMost: .max) }
}

@Suite("Rows of a batch that somebody looks at", .timeLimit(.minutes(1)))
struct RowTableTests {
  private func event(_ id: Int, _ kind: DownloadEvent.Kind) -> DownloadEvent {
    DownloadEvent(time: Date(timeIntervalSince1970: 0), id: id, line: 0, url: "", kind: kind)
  }

  private func file(_ name: String) -> DownloadedFile {
    DownloadedFile(
      name: name, bytes: 1, status: 200, attempts: 1, duration: .zero, proof: .length)
  }

  private let failure = DownloadFailure(.status, status: 404, "The server answered 404")

  /// The item of a row, as a run gives it back.
  private func marked(_ row: Int) -> WorkItem {
    var item = WorkItem(address: "http://h/\(row)")
    item.mark = RowMark(row: row)
    return item
  }

  private func table(_ count: Int) -> RowTable {
    var table = RowTable()
    table.add((0..<count).map { WorkItem(address: "http://u:p@h/\($0)") })
    return table
  }

  @Test("Rows are handed out in the order in which they were added, and shown without secrets")
  func order() {
    var table = table(3)
    #expect(table.rows.map(\.url) == ["http://h/0", "http://h/1", "http://h/2"])
    let first = table.take(upTo: 2)
    #expect(first.map(\.address) == ["http://u:p@h/0", "http://u:p@h/1"])
    table.add([WorkItem(address: "no address")])
    let (rest, nothing) = (table.take(upTo: 9), table.take(upTo: 9))
    #expect(rest.map(\.mark?.row) == [2, 3] && nothing.isEmpty)
    #expect(table.backlog == 0)
  }

  @Test("A row that failed is asked for again under another number, and only one that failed is")
  func retry() {
    var table = table(2)
    _ = table.take(upTo: 2)
    table.receive([event(1, .started(attempt: 1)), event(2, .started(attempt: 1))])
    let early = [0, 7, -1].count { table.retry($0) }
    #expect(early == 0)
    table.receive(
      [event(1, .failed(failure, attempts: 1)), event(2, .done(file("1")))],
      unfinished: [marked(0)])
    #expect(table.rows[0].failure == failure && table.rows[1].file == "1")
    let (isDoneAgain, failed) = (table.retry(1), table.retryAll(.failed))
    #expect(!isDoneAgain && failed == 1)
    #expect(table.rows[0].state == .waiting)
    let again = table.take(upTo: 9)
    #expect(again.map(\.mark?.row) == [0] && again.first?.mark?.end == .failed)
    table.receive([event(3, .started(attempt: 1)), event(3, .done(file("0")))])
    #expect(table.rows[0].file == "0")
    #expect(table.isSettled && table.count(of: .done) == 2 && table.unfinished.isEmpty)
  }

  @Test("What can never be downloaded is not asked for again, nor listed as unfinished")
  func flawed() {
    var table = RowTable()
    table.add([WorkItem(address: "x", flaw: failure), WorkItem(address: "no address")])
    _ = table.take(upTo: 2)
    // The run has nothing left of them.
    table.receive([1, 2].map { event($0, .failed(failure, attempts: 0)) })
    let count = table.retryAll(.failed)
    #expect(count == 0)
    #expect(table.unfinished.isEmpty)
  }

  @Test("A cancel leaves what waits at once, and what the run was handed when the run says so")
  func cancel() {
    var table = table(4)
    _ = table.take(upTo: 2)
    table.receive([event(1, .started(attempt: 1))])
    let items = table.leaveWaiting()
    #expect(items == [1, 2])
    #expect(table.rows.map(\.kind) == [.inFlight, .waiting, .left, .left])
    table.receive([], unfinished: [marked(0), marked(1)])
    #expect(table.count(of: .left) == 4 && table.isSettled)
    let left = table.retryAll(.left)
    #expect(left == 4)
    // The run has counted the first two as left, and has never heard of the others.
    let again = table.take(upTo: 9)
    #expect(again.map(\.mark?.end) == [.left, .left, nil, nil])
  }

  @Test("A filter counts on over the rows of its states")
  func filter() {
    var table = table(10)
    _ = table.take(upTo: 10)
    table.receive(
      (1...10).map { event($0, $0 % 3 == 0 ? .failed(failure, attempts: 1) : .started(attempt: 1)) }
    )
    #expect(table.rows([.failed], from: 1, atMost: 5).map(\.id) == [5, 8])
    #expect(table.rows([.failed, .inFlight], from: 8, atMost: 5).map(\.id) == [8, 9])
    #expect(table.rows(nil, from: 9, atMost: 5).map(\.id) == [9])
    #expect(table.rows(nil, from: 99, atMost: 5).isEmpty)
  }

  @Test("Whatever happens, the counts are those of the rows, and every change is another version")
  func random() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      var table = RowTable()
      var handedOut = 0
      for _ in 0..<60 {
        let version = table.version
        switch Int.random(in: 0..<8, using: &random) {
        case 0: table.add([WorkItem(address: "http://h/"), WorkItem(address: "http://h/")])
        case 1: handedOut += table.take(upTo: 3).count
        case 2: _ = table.retryAll(.failed)
        case 3: _ = table.retryAll(.left)
        case 4: _ = table.leaveWaiting()
        default:
          let id = Int.random(in: 1...max(1, handedOut), using: &random)
          let kinds: [DownloadEvent.Kind] = [
            .started(attempt: 1), .failed(failure, attempts: 1), .done(file("a")),
            .retry(attempt: 1, failure, delay: .zero), .skipped(.duplicate, file: nil),
          ]
          table.receive([event(id, kinds.randomElement(using: &random) ?? kinds[0])])
          #expect(table.version != version)
        }
        for kind in DownloadRow.Kind.allCases {
          #expect(table.count(of: kind) == table.rows.count { $0.kind == kind })
        }
      }
    }
  }
}
