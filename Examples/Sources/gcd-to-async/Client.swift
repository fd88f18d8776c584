// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Synchronization

/// A client that calls back, as clients did before there was `async`.
struct Client: Sendable {
  let downloader: BatchDownloader

  func load(_ url: String, whenDone: @escaping @Sendable (Result<String, any Error>) -> Void) {
    Task {
      do {
        whenDone(.success(text(of: try await downloader.data(from: url))))
      } catch {
        whenDone(.failure(error))
      }
    }
  }
}

/// What the steps without `async` gather their results in, from many threads.
final class Results: Sendable {
  private let texts: Mutex<[String]>

  init(count: Int) { texts = Mutex(Array(repeating: "?", count: count)) }

  func set(_ index: Int, _ result: Result<String, any Error>) {
    if case .success(let text) = result { texts.withLock { $0[index] = text } }
  }

  var all: [String] { texts.withLock { $0 } }
}

/// The body as text.
func text(of body: DownloadedBody) -> String { String(decoding: body.data, as: UTF8.self) }
