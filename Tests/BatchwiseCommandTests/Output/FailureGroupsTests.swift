// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand
@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("The summary's failures", .timeLimit(.minutes(1)))
struct FailureGroupsTests {
  @Test("Without a failure there is nothing to say")
  func none() {
    #expect(FailureGroups().text.isEmpty)
  }

  @Test("They are grouped by reason, the largest group first, with the line of each")
  func grouped() {
    var groups = FailureGroups()
    groups.add(.status, line: 4, message: "The server answered with status 404")
    groups.add(.dns, line: 0, message: "No address is known.")
    groups.add(.dns, line: 9, message: "No address is known.")
    #expect(
      groups.text == """
        2 failed: dns
          http://host/0: No address is known.
          line 9: http://host/9: No address is known.
        1 failed: status
          line 4: http://host/4: The server answered with status 404

        """)
  }

  @Test("Ten of each are named, however many there are", arguments: [10, 11, 100_000])
  func bounded(count: Int) {
    var groups = FailureGroups()
    for line in 1...count { groups.add(.connect, line: line, message: "No.") }
    let lines = groups.text.split(separator: "\n")
    #expect(lines.first == "\(count) failed: connect")
    #expect(lines.dropFirst().prefix(10).last == "  line 10: http://host/10: No.")
    #expect(
      lines.dropFirst(11)
        == (count > 10 ? ["  and \(count - 10) more; --events FILE names them all"] : []))
  }
}

extension FailureGroups {
  fileprivate mutating func add(
    _ reason: DownloadFailure.Reason, line: Int, message: String
  ) {
    add(DownloadFailure(reason, message), of: "http://host/\(line)", line: line)
  }
}
