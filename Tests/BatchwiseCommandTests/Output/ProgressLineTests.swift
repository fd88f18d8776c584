// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand
@testable import BatchwiseDownload

@Suite("The display's line", .timeLimit(.minutes(1)))
struct ProgressLineTests {
  @Test(
    "The bar is never wider than the terminal, whatever it has to tell",
    arguments: [1, 2, 20, 40, 80, 200])
  func width(columns: Int) {
    for finished in [0, 1, 50, 99, 100] {
      for received in [0, 1023, 1 << 20, Int64.max] {
        for pace in [
          ProgressLine.Pace(), .init(items: 0.001, bytes: 1e15), .init(items: 1e6, bytes: 3),
        ] {
          for isListRead in [false, true] {
            var status = DownloadStatus(limit: 8)
            status.done = finished
            status.failed = finished / 2
            status.waiting = 100 - finished
            status.received = received
            status.isListRead = isListRead
            let line = ProgressLine(status: status, pace: pace).bar(width: columns)
            // In the last column a terminal would begin a new line.
            #expect(line.count < columns, "\(line)")
            #expect(!line.contains { $0.isNewline || $0 == "\u{1b}" || $0 == "\r" })
          }
        }
      }
    }
  }

  @Test("It is filled as far as the list is done, once the list's length is known")
  func bar() {
    var status = DownloadStatus(limit: 8)
    status.done = 5
    status.skipped = 2
    status.failed = 3
    status.inFlight = 4
    status.waiting = 6
    status.received = 2048
    let counts = "10 done, 3 of them failed, 4 in flight, 2.00 KiB, 1.00 KiB/s"
    let pace = ProgressLine.Pace(items: 0.08, bytes: 1024)
    #expect(ProgressLine(status: status, pace: pace).bar(width: 200) == counts)
    status.isListRead = true
    #expect(
      ProgressLine(status: status, pace: pace).bar(width: 200)
        == "[===============               ] "
        + "10/20 done, 3 of them failed, 4 in flight, 2.00 KiB, 1.00 KiB/s, 2:05 left")
  }

  @Test("An empty list and a list that is done do not break it")
  func edges() {
    var status = DownloadStatus(limit: 8)
    status.isListRead = true
    #expect(
      ProgressLine(status: status, pace: .init()).bar(width: 80) == "0/0 done, 0 in flight, 0 B")
    status.done = 3
    #expect(
      ProgressLine(status: status, pace: .init()).bar(width: 80)
        == "[\(String(repeating: "=", count: 30))] 3/3 done, 0 in flight, 0 B")
  }

  @Test("The pace is that of the last seconds, not of the whole run")
  func pace() {
    var meter = PaceMeter()
    var status = DownloadStatus(limit: 8)
    #expect(meter.pace(status, at: .zero) == .init())
    for second in 1...20 {
      status.done += second <= 10 ? 100 : 2
      status.received += second <= 10 ? 1000 : 10
      let pace = meter.pace(status, at: .seconds(second))
      if second == 10 { #expect(pace == .init(items: 100, bytes: 1000)) }
      if second >= 15 { #expect(pace == .init(items: 2, bytes: 10)) }
    }
  }

  @Test("A transfer's row fits the terminal, keeps the name's end, and obeys nothing in it")
  func row() {
    let transfer = TransferProgress(
      id: 1, url: "http://h/a", name: "folder/picture\u{1b}[2J-of-a-very-long-name.jpeg",
      received: 3 << 20, total: 10 << 20, duration: .seconds(75))
    #expect(
      transferRow(transfer, width: 100)
        == "  folder/picture\u{FFFD}[2J-of-a-very-long-name.jpeg  3.00 MiB of 10.0 MiB, 1:15")
    #expect(
      transferRow(transfer, width: 45) == "  …ong-name.jpeg  3.00 MiB of 10.0 MiB, 1:15")
    for width in 1...120 {
      let row = transferRow(transfer, width: width)
      #expect(row.count < max(width, 2))
      #expect(!row.unicodeScalars.contains("\u{1b}"))
    }
  }

  @Test("Wide letters count twice, and marks not at all")
  func columns() {
    #expect(fitted("日本語.png", columns: 10) == "日本語.png")
    #expect(fitted("日本語.png", columns: 9) == "…本語.png")
    #expect(fitted("e\u{301}e\u{301}", columns: 2) == "e\u{301}e\u{301}")
  }

  @Test("The summary counts what there is, and leaves out what there is not")
  func summary() {
    var status = DownloadStatus(limit: 8)
    #expect(
      summaryText(DownloadReport(status: status, duration: .zero, ending: .listDone))
        == "0 done: 0 B in 0.00 s, peak in flight 0\n")
    status.done = 10
    status.failed = 1
    status.skipped = 2
    status.bytes = 10 << 20
    status.peakInFlight = 3
    #expect(
      summaryText(DownloadReport(status: status, duration: .seconds(4), ending: .listDone))
        == "10 done, 1 failed, 2 skipped: 10.0 MiB in 4.00 s (2.50 files/s, 2.50 MiB/s), "
        + "peak in flight 3\n")
  }

  @Test(
    "Sizes have about three digits and a unit",
    arguments: [
      (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1536, "1.50 KiB"),
      (10 << 10, "10.0 KiB"), (100 << 10, "100 KiB"), ((1 << 20) - 1, "1.00 MiB"),
      (1 << 20, "1.00 MiB"), (1 << 30, "1.00 GiB"), (1 << 40, "1.00 TiB"),
      (Int64.max, "8388608 TiB"),
    ] as [(Int64, String)])
  func bytes(count: Int64, text: String) {
    #expect(formatted(bytes: count) == text)
  }

  @Test(
    "Numbers have about three digits",
    arguments: [
      (0, "0.00"), (0.004, "0.00"), (0.005, "0.01"), (1.05, "1.05"), (9.994, "9.99"),
      (9.995, "10.0"), (10, "10.0"), (99.94, "99.9"), (99.95, "100"), (1234.5, "1235"),
    ])
  func numbers(number: Double, text: String) {
    #expect(formatted(number: number) == text)
  }
}
