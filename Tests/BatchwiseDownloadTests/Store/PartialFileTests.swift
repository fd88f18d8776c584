// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

/// Each with files that have no name while they are partial, and with files that have one.
@Suite(.timeLimit(.minutes(1)))
struct PartialFileTests {
  @Test("A file is seen when it is whole and not before", arguments: [true, false])
  func commitIsTheFirstSight(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    var file = try PartialFile(in: folder)
    for _ in 0..<3 {
      try [1, 2, 3].withUnsafeBytes { try file.write($0) }
      #expect(visible(in: parent) == [])
    }
    #expect(file.size == 3 * 3 * MemoryLayout<Int>.size)
    let plain = try name("a")
    #expect(try file.commit(as: plain, replacing: false) == .committed)
    #expect(visible(in: parent) == ["a"])
    #expect(parent["a"]?.count == 72)
  }

  @Test(
    "A kept file can be gone on with while a digest of it is still read", arguments: [true, false])
  func readElsewhere(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    let key = PartialKey(ItemKey(rawValue: 7), .entityTag("\"1\""))
    let reader = try kept("12345", for: key, in: folder)
    let size = try PartialFile(keptFor: key, in: folder)?.size
    #expect(size == 5)
    _ = reader
  }

  /// Keeps a file for a later attempt, and returns what somebody else still holds of it.
  private func kept(
    _ text: String, for key: PartialKey, in folder: OutputFolder
  ) throws -> OpenFile {
    var file = try PartialFile(in: folder)
    try Array(text.utf8).withUnsafeBytes { try file.write($0) }
    try file.keep(for: key)
    return file.file
  }

  @Test("Parts of two states of a file lie side by side", arguments: [true, false])
  func twoStates(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    let keys = ["old", "new"].map { PartialKey(ItemKey(rawValue: 7), .entityTag($0)) }
    for (text, key) in zip(["123", "12345"], keys) { _ = try kept(text, for: key, in: folder) }
    #expect(keys.map(folder.partialSize) == [3, 5])
    folder.removePartial(keys[0])
    #expect(keys.map(folder.partialSize) == [nil, 5])
  }

  @Test("A part's name holds its key, and no other name does")
  func keyInName() {
    for (item, tag) in [(0, ""), (1, "\"a\""), (Int64.max, "W/\"b\"")] {
      let key = PartialKey(ItemKey(rawValue: item), .entityTag(tag))
      #expect(PartialKey(name: key.name) == key)
      for name in [key.name + "0", "x" + key.name, String(key.name.dropLast()), "partial-1-2"] {
        #expect(PartialKey(name: name) == nil, "\(name)")
      }
    }
    #expect(PartialKey(name: "partial-ffffffffffffffff-0000000000000000") == nil)
    #expect(PartialKey(name: "partial-+000000000000001-0000000000000000") == nil)
  }

  @Test("An empty file is a file", arguments: [true, false])
  func emptyFile(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    try commit("", in: OutputFolder(path: parent.path, namelessFiles: namelessFiles))
    #expect(parent["a"] == [])
  }

  @Test("A file has the rights that a new file of this process has", arguments: [true, false])
  func rights(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    try commit("x", in: OutputFolder(path: parent.path, namelessFiles: namelessFiles))
    let plain = open(parent.path + "/plain", O_CREAT | O_WRONLY, 0o666)
    close(plain)
    let manager = FileManager.default
    let rights = try ["/a", "/plain"].map {
      try manager.attributesOfItem(atPath: parent.path + $0)[.posixPermissions] as? Int
    }
    #expect(rights[0] == rights[1])
  }

  @Test("A file that is dropped leaves nothing", arguments: [true, false])
  func drop(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    do {
      var file = try PartialFile(in: folder)
      try [1].withUnsafeBytes { try file.write($0) }
    }
    #expect(visible(in: parent) == [])
    #expect(partials(in: parent) == [])
  }

  @Test("A file keeps its folder open for as long as it needs it", arguments: [true, false])
  func outlivesFolder(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    func file() throws -> PartialFile {
      try PartialFile(in: OutputFolder(path: parent.path, namelessFiles: namelessFiles))
    }
    do { _ = try file() }
    #expect(partials(in: parent) == [])
    let plain = try name("a")
    var kept = try file()
    #expect(try kept.commit(as: plain, replacing: false) == .committed)
    #expect(visible(in: parent) == ["a"])
  }

  @Test("A name that is taken is left alone, and the next one is used", arguments: [true, false])
  func neverReplaces(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    try parent.write(Array("old".utf8), to: "a")
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    #expect(try commit("new", as: "a", or: "b", in: folder).name == name("b"))
    #expect(parent["a"] == Array("old".utf8))
    #expect(parent["b"] == Array("new".utf8))
  }

  @Test("When all names are taken the file fails and leaves nothing", arguments: [true, false])
  func allTaken(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    try parent.write([1], to: "a")
    try parent.write([2], to: "b")
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    let failure = #expect(throws: DownloadFailure.self) {
      try commit("new", as: "a", or: "b", in: folder)
    }
    #expect(failure?.reason == .name)
    #expect(failure?.message.contains("a") == true)
    #expect(visible(in: parent) == ["a", "b"])
    #expect(parent["a"] == [1] && parent["b"] == [2])
    #expect(partials(in: parent) == [])
  }

  @Test(
    "What else may bear the name is neither followed nor replaced, even if it leads to equal bytes",
    arguments: ["dangling", "file", "folder link", "folder", "pipe", "hard link outside"],
    [true, false])
  func otherKinds(kind: String, namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let elsewhere = try TemporaryFolder()
    try elsewhere.write(Array("same".utf8), to: "same")
    let path = parent.path + "/a"
    let manager = FileManager.default
    switch kind {
    case "dangling":
      try manager.createSymbolicLink(atPath: path, withDestinationPath: elsewhere.path + "/new")
    case "file":
      try manager.createSymbolicLink(atPath: path, withDestinationPath: elsewhere.path + "/same")
    case "folder link":
      try manager.createSymbolicLink(atPath: path, withDestinationPath: elsewhere.path)
    case "folder": try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
    case "pipe": #expect(mkfifo(path, 0o666) == 0)
    default: try manager.linkItem(atPath: elsewhere.path + "/same", toPath: path)
    }
    let before = try manager.attributesOfItem(atPath: path)
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    let committed = try commit("same", as: "a", or: "b", in: folder)

    // A hard link to a file elsewhere is a file like any other.
    #expect(committed.name == (try name(kind == "hard link outside" ? "a" : "b")))
    let after = try manager.attributesOfItem(atPath: path)
    #expect(before[.systemFileNumber] as? Int == after[.systemFileNumber] as? Int)
    #expect(before[.type] as? FileAttributeType == after[.type] as? FileAttributeType)
    #expect(elsewhere.names == ["same"])
    #expect(elsewhere["same"] == Array("same".utf8))
  }

  // MARK: - A second run

  @Test(
    "An older file with the same bytes is kept, and nothing is added", arguments: [true, false])
  func unchanged(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    // Again and again at once: many files are made within one tick of the file system's clock.
    for text in (0..<50).map({ "text \($0)" }) {
      let names = [text, text + " b"]
      for expected in [false, true, true] {
        let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
        let committed = try commit(text, as: names[0], or: names[1], in: folder)
        #expect(committed.name == (try name(names[0])))
        #expect(committed.isUnchanged == expected)
      }
    }
    #expect(visible(in: parent).count == 50)
    #expect(partials(in: parent) == [])
  }

  @Test("A file of the same run is another item's, even with the same bytes")
  func sameRun() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    for number in 0..<50 {
      let first = try commit("x", as: "\(number)", in: folder)
      let second = try commit("x", as: "\(number)", or: "\(number)b", in: folder)
      #expect(!first.isUnchanged && !second.isUnchanged)
      #expect(second.name == (try name("\(number)b")))
    }
  }

  @Test(
    "Files are compared to the last byte", arguments: [1, 65_535, 65_536, 65_537, 200_000],
    [true, false])
  func comparison(size: Int, isSame: Bool) throws {
    let parent = try TemporaryFolder()
    var old = String(repeating: "x", count: size)
    try parent.write(Array(old.utf8), to: "a")
    let folder = try OutputFolder(path: parent.path)
    if !isSame { old = old.dropLast() + "y" }
    let committed = try commit(old, as: "a", or: "b", in: folder)
    #expect(committed.isUnchanged == isSame)
    #expect(parent.names == (isSame ? ["a"] : ["a", "b"]))
  }

  @Test("A file of another length is another file")
  func otherLength() throws {
    let parent = try TemporaryFolder()
    try parent.write(Array("text".utf8), to: "a")
    let folder = try OutputFolder(path: parent.path)
    #expect(try !commit("tex", as: "a", or: "b", in: folder).isUnchanged)
    #expect(try !commit("texts", as: "a", or: "c", in: folder).isUnchanged)
  }

  @Test("A name that the file system refuses is a disk failure and leaves nothing")
  func refusedName() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path + "/gone")
    try FileManager.default.removeItem(atPath: folder.path)
    let failure = #expect(throws: (any Error).self) { try commit("x", in: folder) }
    #expect((failure as? DownloadFailure)?.reason == .disk || failure is SystemError)
    #expect(parent.names == [])
  }

  // MARK: - In a process of its own

  @Test("A process that is killed in the midst of writing leaves nothing that a later run keeps")
  func killed() async throws {
    let parent = try TemporaryFolder()
    for namelessFiles in [true, false] {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = parent.path as String, namelessFiles = namelessFiles as Bool] in
        let folder = try OutputFolder(path: path, namelessFiles: namelessFiles)
        var file = try PartialFile(in: folder)
        try [1, 2, 3].withUnsafeBytes { try file.write($0) }
        kill(getpid(), SIGKILL)
      }
    }
    #expect(visible(in: parent) == [])
    #expect(partials(in: parent).count == 1, "The file that needed a name")
    let later = try OutputFolder(path: parent.path, namelessFiles: false)
    await later.removeAbandonedPartials { _ in false }
    #expect(partials(in: parent) == [])
  }

  @Test("A file that may not grow any more fails, is not taken for a full disk, and leaves nothing")
  func sizeLimit() async throws {
    let parent = try TemporaryFolder()
    await #expect(processExitsWith: .success) { [path = parent.path as String] in
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 100_000, rlim_max: 100_000)
      #if os(Linux)
        try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0)
      #else
        try #require(setrlimit(RLIMIT_FSIZE, &limit) == 0)
      #endif
      let folder = try OutputFolder(path: path)
      let error = #expect(throws: SystemError.self) {
        try commit(String(repeating: "x", count: 150_000), in: folder)
      }
      #expect(error?.code == EFBIG)
      #expect(error?.meansFull == false)
    }
    #expect(parent.names == [])
  }

  private func visible(in folder: TemporaryFolder) -> [String] {
    folder.names.filter { $0 != ".batchwise" }
  }

  private func partials(in folder: TemporaryFolder) -> [String] {
    TemporaryFolder.names(in: folder.path + "/.batchwise")
  }
}
