// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct OutputFolderTests {
  @Test(
    "The folder and all folders above it are made when they are missing",
    arguments: ["a", "a/b/c/d", "a/b/", "a//b", "a/./b", "./a/b", "e\u{301}/\u{301}/b"])
  func missingFolders(path: String) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path + "/" + path)
    #expect(folder.path == parent.path + "/" + path)
    var isFolder: ObjCBool = false
    #expect(FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder))
    #expect(isFolder.boolValue)
  }

  @Test("A folder that is there is taken as it is")
  func existingFolder() throws {
    let parent = try TemporaryFolder()
    try parent.write([1], to: "old")
    _ = try OutputFolder(path: parent.path)
    #expect(parent.names == ["old"])
  }

  @Test("A folder may be a link to a folder, because that is the caller's own choice")
  func linkedFolder() throws {
    let parent = try TemporaryFolder()
    let target = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: parent.path + "/link", withDestinationPath: target.path)
    let folder = try OutputFolder(path: parent.path + "/link")
    try commit("a", in: folder)
    #expect(target.names == ["a"])
  }

  @Test("A file in the way is an error that names the folder", arguments: ["file", "file/a/b"])
  func fileInTheWay(path: String) throws {
    let parent = try TemporaryFolder()
    try parent.write([1], to: "file")
    let error = #expect(throws: OutputFolderError.self) {
      try OutputFolder(path: parent.path + "/" + path)
    }
    #expect(error?.path == parent.path + "/" + path)
    #expect(error?.cause.code == ENOTDIR)
    #expect(error?.description.contains(path) == true)
    #expect(parent.names == ["file"])
  }

  @Test("An empty path is an error")
  func emptyPath() {
    #expect(throws: OutputFolderError.self) { try OutputFolder(path: "") }
  }

  #if os(Linux)
    @Test(
      "A folder that nothing can be written into is an error at once", arguments: [true, false])
    func unwritable(namelessFiles: Bool) {
      // Nobody can write there, not even an administrator.
      #expect(throws: OutputFolderError.self) {
        try OutputFolder(path: "/proc/self", namelessFiles: namelessFiles)
      }
    }

    @Test(
      "No descriptor stays open, whether a folder can be used or not", arguments: [true, false])
    func descriptors(namelessFiles: Bool) throws {
      let parent = try TemporaryFolder()
      for number in 0..<20 {
        try commit(
          "a", in: OutputFolder(path: parent.path + "/\(number)", namelessFiles: namelessFiles))
        try parent.write([1], to: "\(number)/file")
        _ = try? OutputFolder(path: parent.path + "/\(number)/file")
      }
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
      }
      #expect(open.filter { $0.hasPrefix(parent.path) } == [])
    }
  #endif

  @Test("A folder that is renamed under way is still the one that files go to")
  func renamedFolder() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path + "/before")
    try FileManager.default.moveItem(
      atPath: parent.path + "/before", toPath: parent.path + "/after")
    try commit("a", in: folder)
    #expect(parent.names == ["after"])
    #expect(parent["after/a"] == Array("a".utf8))
  }

  // MARK: - Where files need names

  @Test("Where files need names, they lie in .batchwise, and nothing is left in it")
  func namedPartials() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: false)
    #expect(parent.names == [".batchwise"])
    try commit("a", in: folder)
    #expect(parent.names == [".batchwise", "a"])
    #expect(partials(of: parent) == [])
  }

  @Test("Where files need no names, there is no .batchwise")
  func namelessPartials() throws {
    let parent = try TemporaryFolder()
    try commit("a", in: OutputFolder(path: parent.path))
    #expect(parent.names == ["a"])
  }

  @Test("A .batchwise that leads elsewhere is refused, and nothing is written there")
  func linkedPartials() throws {
    let parent = try TemporaryFolder()
    let elsewhere = try TemporaryFolder()
    try elsewhere.write([1], to: "partial-1-1")
    try FileManager.default.createSymbolicLink(
      atPath: parent.path + "/.batchwise", withDestinationPath: elsewhere.path)
    #expect(throws: OutputFolderError.self) {
      try OutputFolder(path: parent.path, namelessFiles: false)
    }
    #expect(elsewhere.names == ["partial-1-1"])
  }

  @Test("A .batchwise that is a file is refused and kept")
  func filePartials() throws {
    let parent = try TemporaryFolder()
    try parent.write([1], to: ".batchwise")
    #expect(throws: OutputFolderError.self) {
      try OutputFolder(path: parent.path, namelessFiles: false)
    }
    #expect(parent[".batchwise"] == [1])
  }

  @Test("What killed runs left is removed; what is in use, and what is no partial file, is kept")
  func abandonedPartials() async throws {
    let parent = try TemporaryFolder()
    let living = try OutputFolder(path: parent.path, namelessFiles: false)
    var inUse = try PartialFile(in: living)
    let kept = partials(of: parent)
    #expect(kept.count == 1)
    try parent.write([1], to: ".batchwise/partial-1-1")
    try parent.write([1], to: ".batchwise/partial-")
    try parent.write([1], to: ".batchwise/journal.sqlite")
    try FileManager.default.createSymbolicLink(
      atPath: parent.path + "/.batchwise/partial-link", withDestinationPath: "/etc/hostname")
    try FileManager.default.createDirectory(
      atPath: parent.path + "/.batchwise/partial-folder", withIntermediateDirectories: false)

    // Three that belong to items, of which one can still be gone on with.
    let wanted = PartialKey(ItemKey(rawValue: 7), .entityTag("\"now\""))
    let others = [
      PartialKey(ItemKey(rawValue: 7), .entityTag("\"before\"")),
      PartialKey(ItemKey(rawValue: .max), .entityTag("\"now\"")),
    ]
    for key in [wanted] + others { try parent.write([1], to: ".batchwise/" + key.name) }

    let later = try OutputFolder(path: parent.path, namelessFiles: false)
    await later.removeAbandonedPartials { $0 == wanted }
    let expected = kept + ["journal.sqlite", wanted.name, "partial-folder", "partial-link"]
    #expect(partials(of: parent) == expected.sorted())
    #expect(try inUse.commit(as: name("a"), replacing: false) == .committed)
    #expect(parent["a"] == [])
  }

  private func partials(of folder: TemporaryFolder) -> [String] {
    TemporaryFolder.names(in: folder.path + "/.batchwise")
  }
}

/// The path of a file in the output folder, as an address would give it.
func name(_ text: String) throws -> OutputPath {
  OutputPath(FileName(for: try WebAddress("http://h/" + text)))
}

/// A file under its final name.
struct CommittedFile: Equatable {
  var name: OutputPath
  var isUnchanged: Bool
}

/// Commits a file with that text, or the alternative name where the plain one is taken.
@discardableResult
func commit(
  _ text: String, as plain: String = "a", or alternative: String? = nil, in folder: OutputFolder
) throws -> CommittedFile {
  var file = try PartialFile(in: folder)
  try Array(text.utf8).withUnsafeBytes { try file.write($0) }
  for name in try [plain, alternative ?? plain].map(name) {
    switch try file.commit(as: name, replacing: false) {
    case .committed: return CommittedFile(name: name, isUnchanged: false)
    case .unchanged: return CommittedFile(name: name, isUnchanged: true)
    case .taken: continue
    }
  }
  throw DownloadFailure(.name, "\(plain) is taken")
}
