// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite("Digests of a file that is being written", .timeLimit(.minutes(1)))
struct BodyDigestTests {
  private let parent: TemporaryFolder
  private let folder: OutputFolder

  init() throws {
    parent = try TemporaryFolder()
    folder = try OutputFolder(path: parent.path)
  }

  @Test(
    "They are those of all bytes in their order, however long the file and its pieces are",
    arguments: [
      0, 1, 4096, 65_535, 65_536, 65_537, 600_000, 3_000_000,
    ])
  func whole(size: Int) async throws {
    for seed in 0..<4 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
      var file = try PartialFile(in: folder)
      let digest = Self.digest(of: file.file)
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...(size / 7 + 1), using: &random))
        rest = rest.dropFirst(piece.count)
        try piece.withUnsafeBytes { piece in
          try file.write(piece)
          digest.wrote(piece)
        }
      }
      let checksums = try await Self.outcome(of: digest).get()
      let isRight = checksums == Self.checksums(of: bytes)
      #expect(isRight, "seed \(seed)")
    }
  }

  @Test("They begin with what was there before the file was gone on with")
  func resumed() async throws {
    var file = try PartialFile(in: folder)
    let (old, new) = ([UInt8](repeating: 7, count: 2_000_000), [UInt8](repeating: 9, count: 10))
    try old.withUnsafeBytes { try file.write($0) }
    let digest = Self.digest(of: file.file, written: file.size)
    try new.withUnsafeBytes { piece in
      try file.write(piece)
      digest.wrote(piece)
    }
    let checksums = try await Self.outcome(of: digest).get()
    let isRight = checksums == Self.checksums(of: old + new)
    #expect(isRight)
  }

  @Test("A file that somebody has cut short meanwhile has none, and that is told")
  func cutShort() async throws {
    var file = try PartialFile(in: folder)
    let bytes = [UInt8](repeating: 1, count: 200_000)
    let digest = Self.digest(of: file.file)
    try bytes.withUnsafeBytes { piece in
      try file.write(piece)
      digest.wrote(piece)
    }
    #expect(ftruncate(file.file.number, 1000) == 0)
    let outcome = await Self.outcome(of: digest)
    #expect(outcome == .failure(.inputOutput))
  }

  private static func digest(of file: OpenFile, written: Int64 = 0) -> BodyDigest {
    let digests = SumDigests()
    return BodyDigest(
      [digests.makeDigest(.sha256), digests.makeDigest(.md5)], of: file, written: written)
  }

  private static func checksums(of bytes: [UInt8]) -> [Checksum] {
    [SumDigests.checksum(.sha256, of: bytes), SumDigests.checksum(.md5, of: bytes)]
  }

  private static func outcome(of digest: BodyDigest) async -> BodyDigest.Outcome {
    let later = Watched<BodyDigest.Outcome?>(nil)
    if let now = digest.finish({ outcome in later.update { $0 = outcome } }) { return now }
    await later.wait { $0 != nil }
    return later.value ?? .failure(.inputOutput)
  }
}
