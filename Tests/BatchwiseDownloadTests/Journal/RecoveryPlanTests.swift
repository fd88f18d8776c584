// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseDownload

@Suite("What is to be done about a recorded item", .timeLimit(.minutes(1)))
struct RecoveryPlanTests {
  private static let url = "http://h/a"
  private static let file = StoredFile(
    path: "a", bytes: 7, sha256: nil, validator: .entityTag("\"1\""))
  private static let point = ResumePoint(validator: .entityTag("\"1\""), total: 9)
  private static let failure = DownloadFailure(.status, status: 404, "Not there")

  private func plan(
    _ state: ItemRecord.State?, refreshes: Bool = false, retries: Bool = false,
    previous: StoredFile? = nil, forgotten: Bool = false, size: Int64? = nil,
    partialSize: Int64? = nil, url: String = url
  ) -> RecoveryPlan {
    var options = DownloadOptions.Recorded()
    options.refreshesDone = refreshes
    options.retriesFailed = retries
    let record = state.map {
      ItemRecord(
        key: ItemKey(rawValue: 1), url: Self.url, state: $0, previous: previous,
        isForgotten: forgotten)
    }
    return RecoveryPlan(
      record, url: url, options: options, size: { $0 == "a" ? size : nil },
      partialSize: { $0 == Self.file.validator ? partialSize : nil })
  }

  @Test("What has no record is fetched, and so is what another address has the record of")
  func unknown() {
    #expect(plan(nil) == .new)
    #expect(plan(.done(Self.file), size: 7, url: "http://h/b") == .new)
  }

  @Test("A file that is there with its recorded length is done, and is only asked about on demand")
  func done() {
    #expect(plan(.done(Self.file), size: 7) == .alreadyDone(Self.file))
    #expect(
      plan(.done(Self.file), refreshes: true, size: 7)
        == .fetch(previous: Self.file, isConditional: true, resume: nil))
    var nameless = Self.file
    nameless.validator = nil
    #expect(plan(.done(nameless), refreshes: true, size: 7) == .alreadyDone(nameless))
  }

  @Test("A file that is missing or has another length is fetched again, to the same path")
  func gone() {
    let again = RecoveryPlan.fetch(previous: Self.file, isConditional: false, resume: nil)
    #expect(plan(.done(Self.file), size: nil) == again)
    #expect(plan(.done(Self.file), size: 6) == again)
    #expect(plan(.done(Self.file), refreshes: true, size: 0) == again)
    #expect(plan(.done(Self.file), size: nil, partialSize: 6) == again)
  }

  @Test("A whole partial file whose name was about to be given only gets the name")
  func rename() {
    #expect(plan(.done(Self.file), size: nil, partialSize: 7) == .rename(Self.file))
    // But not in place of something else that has the name.
    #expect(
      plan(.done(Self.file), size: 3, partialSize: 7)
        == .fetch(previous: Self.file, isConditional: false, resume: nil))
  }

  @Test("A failure stands until it is to be tried again, and then goes on from what was kept")
  func failed() {
    let state = ItemRecord.State.failed(Self.failure, attempts: 3, Self.point)
    #expect(plan(state) == .failedBefore(Self.failure, attempts: 3))
    #expect(
      plan(state, retries: true)
        == .fetch(previous: nil, isConditional: false, resume: Self.point))
  }

  @Test("What was broken off goes on, and what was never begun begins")
  func unfinished() {
    #expect(
      plan(.partial(Self.point)) == .fetch(previous: nil, isConditional: false, resume: Self.point))
    #expect(plan(.left) == .new)
  }

  @Test("What is not done yet may replace the earlier file, which is there still")
  func earlier() {
    let states: [(ItemRecord.State, ResumePoint?)] = [
      (.partial(Self.point), Self.point), (.failed(Self.failure, attempts: 1, nil), nil),
      (.failed(Self.failure, attempts: 1, Self.point), Self.point), (.left, nil),
    ]
    for (state, point) in states {
      #expect(
        plan(state, retries: true, previous: Self.file, size: 7)
          == .fetch(previous: Self.file, isConditional: false, resume: point))
      #expect(
        plan(state, previous: Self.file, forgotten: true, size: 7)
          == .fetch(previous: Self.file, isConditional: false, resume: nil))
    }
  }

  @Test("Of what was forgotten only the path is known, which may be replaced")
  func forgotten() {
    #expect(
      plan(.done(Self.file), forgotten: true, size: 7)
        == .fetch(previous: Self.file, isConditional: false, resume: nil))
    #expect(plan(.failed(Self.failure, attempts: 1, Self.point), forgotten: true) == .new)
    #expect(plan(.partial(Self.point), forgotten: true) == .new)
    #expect(plan(.left, forgotten: true) == .new)
  }

  @Test("Keys tell items apart by address, name, header and password, and are stable")
  func keys() throws {
    func key(_ address: String, name: String? = nil, header: String? = nil, salt: UInt64 = 1)
      throws -> ItemKey
    {
      var item = WorkItem(address: address)
      item.name = name
      item.headers = header.flatMap { HeaderField($0) }.map { [$0] } ?? []
      return try PlannedItem(item, salt: salt).key
    }
    let keys = try [
      key("http://h/a"), key("http://h/b"), key("http://h/a", name: "x"),
      key("http://h/a", name: "y"), key("http://h/a", header: "A: 1"),
      key("http://h/a", header: "A: 2"), key("http://u:1@h/a"), key("http://u:2@h/a"),
      key("http://h/a", salt: 2),
    ]
    #expect(Set(keys).count == keys.count)
    #expect(try key("http://h/a") == keys[0])
    #expect(try key("http://h/a#fragment") == keys[0])
    #expect(try key("http://h/a", header: "A: 1") == keys[4])
  }
}
