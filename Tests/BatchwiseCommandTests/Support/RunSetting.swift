// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import Glibc
import SQLiteJournal
import TestSupport
import Testing

/// A folder and an origin, and runs of `fetch` from the one into the other.
struct RunSetting {
  /// What a test keeps beside the output folder; nothing else may come to lie here.
  let folder: TemporaryFolder
  let origin: MisbehavingOrigin

  init(_ origin: MisbehavingOrigin? = nil) throws {
    folder = try TemporaryFolder()
    self.origin = try origin ?? MisbehavingOrigin()
  }

  /// Where files go.
  var output: String { folder.path + "/o" }

  /// Where the journal is.
  var journal: String { output + "/.batchwise/journal.sqlite" }

  // MARK: - Runs

  /// Starts a run with its events on standard output.
  func start(
    _ arguments: [String] = [], list: [String] = [], environment: [String: String] = [:],
    through wrapper: [String] = []
  ) throws -> CommandRun {
    try CommandRun(
      ["fetch", "-o", output, "--events", "-"] + arguments,
      input: list.isEmpty ? .nothing : .text(list.map { $0 + "\n" }.joined()),
      environment: environment, through: wrapper)
  }

  /// Starts a run with its events on standard output, and waits until it has ended.
  func fetch(
    _ arguments: [String] = [], list: [String] = [], environment: [String: String] = [:],
    through wrapper: [String] = []
  ) async throws -> CommandRun.Ending {
    try await start(arguments, list: list, environment: environment, through: wrapper).ending
  }

  /// Kills a run as nothing can be done against.
  func kill(_ run: CommandRun) async {
    run.send(SIGKILL)
    _ = await run.ending
  }

  /// What `status` says of the output folder.
  func status() async throws -> CommandRun.Ending {
    try await CommandRun.ending(["status", output])
  }

  /// Waits until the journal knows what it should, while a run goes on.
  func waitForJournal(
    _ run: CommandRun, until isReached: (JournalSummary) -> Bool
  ) async throws {
    while true {
      if let summary = try? SQLiteJournal.summary(path: journal), isReached(summary) { return }
      try #require(run.isRunning, "The run has ended too early")
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// Waits until the only partial file is so long, while a run goes on.
  func waitForPart(of size: Int, in run: CommandRun) async throws {
    while partialSize != size {
      try #require(run.isRunning, "The run has ended too early")
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  // MARK: - What lies in the folder

  /// The paths of all files in the output folder, but for those in the downloader's own.
  var files: [String] {
    let all = FileManager.default.enumerator(atPath: output)?.compactMap { $0 as? String } ?? []
    return all.filter { path in
      let attributes = try? FileManager.default.attributesOfItem(atPath: output + "/" + path)
      return path != ".batchwise" && !path.hasPrefix(".batchwise/")
        && attributes?[.type] as? FileAttributeType != .typeDirectory
    }.sorted()
  }

  /// The partial files that are kept.
  var partials: [String] {
    TemporaryFolder.names(in: output + "/.batchwise").filter { $0.hasPrefix("partial-") }
  }

  /// The length of the only partial file, or nil.
  var partialSize: Int? {
    guard partials.count == 1 else { return nil }
    let path = output + "/.batchwise/" + partials[0]
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.intValue
  }

  /// The bytes of a file in the output folder.
  subscript(name: String) -> [UInt8]? { folder["o/" + name] }

  /// Expects a file to hold these bytes and no others.
  func expect(
    _ bytes: [UInt8], as name: String, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    func record(_ problem: String) {
      let text = [problem, comment?.rawValue].compactMap(\.self).joined(separator: ", ")
      Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
    }
    guard let found = self[name] else { return record("There is no file \(name)") }
    guard found.count == bytes.count else {
      return record("\(name) has \(found.count) bytes and not \(bytes.count)")
    }
    // Not compared byte by byte, which takes long for megabytes where nothing is optimized.
    guard !found.isEmpty, memcmp(found, bytes, bytes.count) != 0 else { return }
    let offset = zip(found, bytes).prefix { $0 == $1 }.count
    record("\(name) is another from byte \(offset) on")
  }

  /// Expects the output folder to hold these files, and but for the journal nothing else.
  func expectOnly(
    _ expected: [String: [UInt8]], _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(files == expected.keys.sorted(), comment, sourceLocation: sourceLocation)
    let own = TemporaryFolder.names(in: output + "/.batchwise").filter { $0 != "journal.sqlite" }
    #expect(own == [], comment, sourceLocation: sourceLocation)
    for (name, bytes) in expected {
      expect(bytes, as: name, comment, sourceLocation: sourceLocation)
    }
  }
}
