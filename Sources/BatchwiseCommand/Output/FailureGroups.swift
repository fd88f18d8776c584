// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// The failures of a run, grouped by reason; holds ten of each however many there are.
struct FailureGroups {
  static let shown = 10

  private struct Group {
    var reason: DownloadFailure.Reason
    var count = 0
    var lines: [String] = []
  }

  private var groups: [Group] = []

  /// Notes one failed item; its line is 0 if it comes from no list.
  mutating func add(_ failure: DownloadFailure, of url: String, line: Int) {
    let index =
      groups.firstIndex { $0.reason == failure.reason }
      ?? {
        groups.append(Group(reason: failure.reason))
        return groups.count - 1
      }()
    groups[index].count += 1
    guard groups[index].count <= Self.shown else { return }
    let place = line > 0 ? "line \(line): " : ""
    groups[index].lines.append("  \(place)\(url): \(failure.message)")
  }

  /// The reasons, that of the largest group first.
  var reasons: [DownloadFailure.Reason] {
    groups.sorted { $0.count > $1.count }.map(\.reason)
  }

  /// The groups as lines of text, the largest first.
  var text: String {
    var lines: [String] = []
    for group in groups.sorted(by: { $0.count > $1.count }) {
      lines.append("\(group.count) failed: \(group.reason.rawValue)")
      lines += group.lines
      if group.count > Self.shown {
        lines.append("  and \(group.count - Self.shown) more; --events FILE names them all")
      }
    }
    return lines.map { $0 + "\n" }.joined()
  }
}
