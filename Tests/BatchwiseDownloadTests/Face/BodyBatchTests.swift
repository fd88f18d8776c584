// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite(.timeLimit(.minutes(1)))
struct BodyBatchTests {
  private func head(_ length: Int) -> ResponseHead {
    ResponseHead(status: 200, framing: .length(Int64(length)))
  }

  @Test("Bodies come in the order of the list, and nothing is written")
  func order() async throws {
    let first = Gate()
    let setting = try FaceSetting { url in
      if url == "http://h/0" { await first.pass() }
      if url == "http://h/49" { first.open() }
      var head = ResponseHead(status: 200, framing: .chunked)
      head.mediaType = "text/plain"
      return .body(head, Array(url.utf8))
    }
    let urls = addresses(0..<50)
    let bodies = try await setting.downloader.downloadAll(urls, limit: 3, atMost: 10_000)
    #expect(bodies.map { String(decoding: $0.data, as: UTF8.self) } == urls)
    #expect(bodies.allSatisfy { $0.mediaType == "text/plain" && $0.status == 200 })
    #expect(bodies.allSatisfy { $0.proof == .length && $0.attempts == 1 })
    #expect(setting.place.names == [])
  }

  @Test("The peak in flight equals the limit of the call", arguments: [1, 3, 16])
  func peak(limit: Int) async throws {
    let arrived = Watched(0)
    let setting = try FaceSetting(options: .limited(to: 16)) { url in
      arrived.update { $0 += 1 }
      await arrived.wait { $0 >= limit }
      return .file(url)
    }
    _ = try await setting.downloader.downloadAll(addresses(0..<64), limit: limit, atMost: 10_000)
    #expect(setting.transport.record.value.peak == limit)
  }

  @Test("Equal requests are one transfer, whatever they are named, and have the same bytes")
  func duplicates() async throws {
    let setting = try FaceSetting { .file($0) }
    let requests = [
      DownloadRequest("http://h/a", name: "x"), DownloadRequest("http://h/a", name: "../y"),
      DownloadRequest("http://h/b"), DownloadRequest("http://h/a"),
    ]
    // So many bytes as there are, once each.
    let bodies = try await setting.downloader.downloadAll(requests, limit: 1, atMost: 20)
    #expect(bodies.map { String(decoding: $0.data, as: UTF8.self).last } == ["a", "a", "b", "a"])
    #expect(setting.requests == 2)
  }

  @Test("Empty lists and empty bodies are well")
  func empty() async throws {
    let setting = try FaceSetting { _ in .file("") }
    #expect(try await setting.downloader.downloadAll([String](), atMost: 0) == [])
    let bodies = try await setting.downloader.downloadAll(addresses(0..<3), atMost: 0)
    #expect(bodies.map(\.data) == [Data(), Data(), Data()])
  }

  @Test("Together they may come to the bound, and one byte more fails with too-large")
  func bound() async throws {
    let setting = try FaceSetting { _ in .file("12345") }
    let urls = addresses(0..<4)
    #expect(try await setting.downloader.downloadAll(urls, atMost: 20).count == 4)
    let thrown = await failure { try await setting.downloader.downloadAll(urls, atMost: 19) }
    let error = try #require(thrown as? DownloadFailure)
    #expect(error.reason == .tooLarge && error.url?.hasPrefix("http://h/") == true)
    #expect(setting.inFlight == 0)
  }

  @Test("A body that announces more than the bound is refused before a byte of it is taken")
  func announced() async throws {
    let setting = try FaceSetting { _ in
      .pieces(ResponseHead(status: 200, framing: .length(1 << 40)), [[1]])
    }
    let control = DownloadControl()
    let thrown = await failure {
      try await setting.downloader.downloadAll(
        ["http://h/a"], atMost: 1 << 20, control: control)
    }
    #expect((thrown as? DownloadFailure)?.reason == .tooLarge)
    #expect(control.status?.received == 0)
  }

  @Test("A body that does not tell its length is given up where it passes the bound")
  func unannounced() async throws {
    let pieces = Array(repeating: [UInt8](repeating: 7, count: 100), count: 1000)
    let setting = try FaceSetting { _ in
      .pieces(ResponseHead(status: 200, framing: .chunked), pieces)
    }
    let control = DownloadControl()
    let thrown = await failure {
      try await setting.downloader.downloadAll(["http://h/a"], atMost: 1000, control: control)
    }
    #expect((thrown as? DownloadFailure)?.reason == .tooLarge)
    #expect(control.status?.received == 1100)
    #expect(try await setting.downloader.downloadAll(["http://h/a"], atMost: 100_000).count == 1)
  }

  @Test("The room of a broken attempt is there for the next one")
  func brokenAttempt() async throws {
    var options = DownloadOptions.limited(to: 1)
    options.retries = 3
    options.backoff = .constant(.zero)
    let times = Watched(0)
    let setting = try FaceSetting(options: options) { [head] _ in
      let time = times.update { time in
        time += 1
        return time
      }
      let lost = DownloadFailure(.truncated, "Lost", remedy: .anotherAttempt)
      let piece = [UInt8](repeating: UInt8(time), count: 60)
      return time < 4
        ? .pieces(head(100), [piece], then: .failed(lost))
        : .pieces(head(100), [piece, Array(piece.prefix(40))])
    }
    let bodies = try await setting.downloader.downloadAll(["http://h/a"], atMost: 100)
    #expect(bodies.map(\.data) == [Data(repeating: 4, count: 100)])
    #expect(bodies[0].attempts == 4)
  }

  @Test("A body is compared with its checksum, a long one too", arguments: [10, 1 << 20])
  func checksum(length: Int) async throws {
    let setting = try FaceSetting(digests: SumDigest(), memory: 4 << 20) { [head] _ in
      .body(head(length), [UInt8](repeating: 3, count: length))
    }
    let right = DownloadRequest("http://h/a", checksum: SumDigest.checksum(3 * length))
    let bodies = try await setting.downloader.downloadAll([right], atMost: 4 << 20)
    #expect(bodies.map(\.proof) == [.checksum] && bodies[0].data.count == length)

    let wrong = DownloadRequest("http://h/a", checksum: SumDigest.checksum(1))
    let thrown = await failure {
      try await setting.downloader.downloadAll([wrong], atMost: 4 << 20)
    }
    #expect((thrown as? DownloadFailure)?.reason == .checksum)
    #expect(try await setting.downloader.data(from: right).proof == .checksum)
  }

  @Test("Sizes and kinds are judged in memory as they are for files")
  func filters() async throws {
    var options = DownloadOptions.limited(to: 3)
    options.filter = FileFilter(largest: 4, kind: .image)
    let setting = try FaceSetting(options: options) { url in
      url.hasSuffix("long") ? .file("12345") : .file("<p>")
    }
    let long = await failure {
      try await setting.downloader.downloadAll(["http://h/long"], atMost: 100)
    }
    #expect((long as? DownloadFailure)?.reason == .tooLarge)
    let page = await failure {
      try await setting.downloader.downloadAll(["http://h/page"], atMost: 100)
    }
    #expect((page as? DownloadFailure)?.reason == .wrongType)
    let size = await failure {
      try await setting.downloader.downloadAll(
        [DownloadRequest("http://h/page", size: 4)], atMost: 100)
    }
    #expect((size as? DownloadFailure)?.reason == .size)
  }

  @Test("Redirects are followed, to other origins too")
  func redirects() async throws {
    let setting = try FaceSetting { url in
      switch url {
      case "http://h/a": .redirect(to: "http://h/b")
      case "http://h/b": .redirect(to: "http://other/c")
      default: .file(url)
      }
    }
    let bodies = try await setting.downloader.downloadAll(["http://h/a"], atMost: 100)
    #expect(bodies.map { String(decoding: $0.data, as: UTF8.self) } == ["http://other/c"])
  }

  @Test("Cancelled at any point, the call ends when nothing of it is in flight", arguments: 0..<8)
  func cancelled(after count: Int) async throws {
    let setting = try FaceSetting { url in
      if Int(url.dropFirst(9)) ?? 0 >= count { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let task = Task {
      try await setting.downloader.downloadAll(addresses(0..<40), limit: 3, atMost: 10_000)
    }
    await setting.transport.record.wait { $0.urls.count >= count + 3 }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(setting.inFlight == 0)
  }
}

/// A digest for tests: the sum of all bytes, written as an MD5.
struct SumDigest: DigestMaker {
  private final class Running: RunningDigest {
    private let sum = Watched(0)
    func update(_ bytes: UnsafeRawBufferPointer) {
      let added = bytes.reduce(0) { $0 + Int($1) }
      sum.update { $0 += added }
    }
    func finish() -> Checksum { SumDigest.checksum(sum.value) }
  }

  static func checksum(_ sum: Int) -> Checksum {
    var bytes = [UInt8](repeating: 0, count: 16)
    for index in 0..<8 { bytes[index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
    return Checksum(.md5, bytes: bytes)
  }

  func makeDigest(_ algorithm: Checksum.Algorithm) -> any RunningDigest { Running() }
}
