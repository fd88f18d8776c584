// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseDownload
import Foundation

// What the snippets in README and in the documentation speak of. `scripts/check snippets` compiles
// every one of them together with this file.

struct Page: Sendable {}

struct BadLine: Error {
  var text: String
}

struct File: Sendable {
  var blocks: [Data] = []
}

struct Connection: Sendable {}

struct HTTPError: Error {
  var status: Int
  var retryAfter: Duration?
}

/// A client that calls back.
struct Client: Sendable {
  func load(_ url: URL, whenDone: @escaping @Sendable (Result<Page, any Error>) -> Void) {}
}

let limiter = ConcurrencyLimiter(limit: 4)
let queue = TaskQueue<Page>(limit: 3)
let front = queue.add { Page() }
let policy = RetryPolicy(attempts: 5, backoff: .constant(.seconds(1)))
let client = Client()
let url = URL(fileURLWithPath: "/")
let video = Data()
let urls: [URL] = []
let mirrors: [URL] = []
let lines: [String] = []
let files: [File] = []
let questions = AsyncStream<String> { $0.finish() }
let connections = AsyncStream<Connection> { $0.finish() }

func load(_ url: URL) async throws -> Page { Page() }
func picture(at url: URL) async throws -> Data? { nil }
func answer(_ question: String) async -> String { "42" }
func isPrime(_ number: Int) -> Bool { number == 2 }
func upload(_ file: File) async throws {}
func serve(_ connection: Connection) async {}
func compress(_ block: Data) async {}
func show(_ page: Page) {}
func thumbnail(of file: File) throws -> Data { Data() }
func keep(_ data: Data) {}
func log(_ line: String) {}
func showThatAllIsDone() {}

/// A transport that carries nothing.
struct NoTransport: Transport {
  func start(_ transfers: [Transfer]) {}
  func cancel(_ handler: any TransferHandler) {}
}

let transport = NoTransport()
let downloader = BatchDownloader(transport: transport)
let addresses = AsyncStream<URL> { $0.finish() }
let digest = ""

var folder: OutputFolder { fatalError("Snippets are compiled and not run") }
func show(_ place: Int, _ data: Data) {}
