// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchwiseCommand
@testable import BatchwiseDownload

@Suite("What to type next", .timeLimit(.minutes(1)))
struct NextStepsTests {
  private func report(failed: Int, _ ending: DownloadReport.Ending) -> DownloadReport {
    var status = DownloadStatus(limit: 8)
    status.failed = failed
    return DownloadReport(status: status, duration: .zero, ending: ending)
  }

  @Test("Where nothing is left to do nothing is said")
  func nothing() {
    #expect(nextSteps(report(failed: 0, .listDone), [], hasJournal: true).isEmpty)
    #expect(nextSteps(report(failed: 0, .listDone), [], hasJournal: false).isEmpty)
  }

  @Test("Failures can be tried again, and some kinds have an option of their own")
  func failures() {
    let text = nextSteps(report(failed: 2, .listDone), [.status, .tls], hasJournal: true)
    #expect(
      text == """
        --cacert FILE names certificates that may vouch for servers.
        Add --retry-failed to a further run to try again what has failed.

        """)
  }

  @Test("A run that was stopped goes on with the same command, if there is a journal")
  func stopped() {
    #expect(
      nextSteps(report(failed: 0, .stopped), [], hasJournal: true)
        == "Run the same command again to go on where it stopped.\n")
    #expect(
      nextSteps(report(failed: 0, .diskFull), [], hasJournal: false)
        == "Without a journal a further run begins anew.\n")
  }
}
