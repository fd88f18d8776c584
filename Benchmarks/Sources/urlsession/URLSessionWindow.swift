// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The baseline that `scripts/bench` compares with: what is written by hand where no library is at
/// hand, a task group as a sliding window over `URLSession`.
///
///     urlsession OUTPUT LIMIT < list
@main
struct URLSessionWindow {
  static func main() async throws {
    let output = URL(filePath: CommandLine.arguments[1])
    let limit = Int(CommandLine.arguments[2]) ?? 16
    var urls: [URL] = []
    while let line = readLine() { urls += [URL(string: line)].compactMap(\.self) }

    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = limit
    let session = URLSession(configuration: configuration)

    try await withThrowingTaskGroup(of: Void.self) { group in
      var rest = urls[...]
      func start(_ url: URL) {
        group.addTask {
          let (data, _) = try await session.data(from: url)
          try data.write(to: output.appending(path: url.lastPathComponent), options: .atomic)
        }
      }
      for url in rest.prefix(limit) { start(url) }
      rest = rest.dropFirst(limit)
      while try await group.next() != nil {
        if let url = rest.popFirst() { start(url) }
      }
    }
  }
}
