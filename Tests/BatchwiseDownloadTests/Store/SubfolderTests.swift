// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

/// Each with files that have no name while they are partial, and with files that have one.
@Suite(.timeLimit(.minutes(1)))
struct SubfolderTests {
  // MARK: - Making folders

  @Test(
    "Folders of a path are made with the file, and not before it is whole",
    arguments: [true, false])
  func madeFolders(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    var file = try PartialFile(in: folder)
    try [1].withUnsafeBytes { try file.write($0) }
    #expect(visible(in: parent) == [])
    #expect(try file.commit(as: path("x/y/z/a"), replacing: false) == .committed)
    #expect(parent["x/y/z/a"]?.count == 8)
    try commit("b", as: "x/y/b", in: folder)
    try commit("c", as: "x/y/z/c", in: folder)
    #expect(TemporaryFolder.names(in: parent.path + "/x/y") == ["b", "z"])
    #expect(TemporaryFolder.names(in: parent.path + "/x/y/z") == ["a", "c"])
  }

  @Test("More folders than are kept open, and deeper ones, are found all the same")
  func manyFolders() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    let deep = (0..<100).map { "d\($0)" }.joined(separator: "/")
    for round in 0..<2 {
      for number in 0..<50 {
        try commit("\(number)", as: "f\(number)/g/\(round)", in: folder)
      }
      try commit("deep", as: "\(deep)/\(round)", in: folder)
    }
    #expect(visible(in: parent).count == 51)
    for number in 0..<50 {
      #expect(parent["f\(number)/g/1"] == Array("\(number)".utf8))
    }
    #expect(parent[deep + "/1"] == Array("deep".utf8))
  }

  @Test("Two that make the same folders at once both find them")
  func atOnce() async throws {
    let parent = try TemporaryFolder()
    let folders = try (0..<2).map { _ in try OutputFolder(path: parent.path) }
    try await withThrowingTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<50 {
            try self.commit(
              "\(task)", as: "\(number)/x/\(number % 7)/\(task)", in: folders[task % 2])
          }
        }
      }
      try await group.waitForAll()
    }
    for number in 0..<50 {
      #expect(
        TemporaryFolder.names(in: "\(parent.path)/\(number)/x/\(number % 7)")
          == (0..<8).map(String.init))
    }
  }

  @Test("A folder that was removed under way is made anew", arguments: [true, false])
  func removedFolder(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    for kept in ["x/y", "x"] {
      try commit("a", as: "x/y/a", in: folder)
      #expect(try folder.size(of: path("x/y/a")) == 1)
      try FileManager.default.removeItem(atPath: parent.path + "/" + kept)
      #expect(try folder.size(of: path("x/y/a")) == nil)
      try commit("b", as: "x/y/b", in: folder)
      #expect(parent["x/y/b"] == Array("b".utf8))
      try FileManager.default.removeItem(atPath: parent.path + "/x")
      try FileManager.default.createDirectory(
        atPath: parent.path + "/x/y", withIntermediateDirectories: true)
      try parent.write([1, 2], to: "x/y/a")
      #expect(try folder.size(of: path("x/y/a")) == 2, "Of the folder that is there now")
      try FileManager.default.removeItem(atPath: parent.path + "/x")
    }
  }

  // MARK: - What is in the way

  @Test(
    "A link or a file on the way is not followed, and nothing is written behind it",
    arguments: ["x", "x/y"], [true, false])
  func inTheWay(place: String, namelessFiles: Bool) throws {
    for kind in ["link to folder", "link elsewhere", "dangling link", "file", "pipe"] {
      let parent = try TemporaryFolder()
      let elsewhere = try TemporaryFolder()
      let manager = FileManager.default
      try manager.createDirectory(
        atPath: parent.path + "/real/y", withIntermediateDirectories: true)
      if place == "x/y" {
        try manager.createDirectory(atPath: parent.path + "/x", withIntermediateDirectories: true)
      }
      let full = parent.path + "/" + place
      switch kind {
      case "link to folder":
        try manager.createSymbolicLink(atPath: full, withDestinationPath: parent.path + "/real")
      case "link elsewhere":
        try manager.createSymbolicLink(atPath: full, withDestinationPath: elsewhere.path)
      case "dangling link":
        try manager.createSymbolicLink(atPath: full, withDestinationPath: elsewhere.path + "/new")
      case "file": try parent.write([1], to: place)
      default: #expect(mkfifo(full, 0o666) == 0)
      }
      let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
      for name in ["x/y/a", "x/y/z/a"] {
        let failure = #expect(throws: DownloadFailure.self) {
          try commit("new", as: name, in: folder)
        }
        #expect(failure?.reason == .name, "\(kind)")
        #expect(failure?.message.contains("link or a file") == true)
        #expect(try folder.size(of: path(name)) == nil)
        #expect(try folder.open(path(name)) == nil)
        #expect(try !folder.hasEntry(path(name)))
      }
      #expect(elsewhere.names == [])
      #expect(TemporaryFolder.names(in: parent.path + "/real") == ["y"])
    }
  }

  @Test("A folder that is replaced by a link while it is in use leads nowhere else")
  func replacedByLink() throws {
    let parent = try TemporaryFolder()
    let elsewhere = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    try commit("a", as: "x/a", in: folder)
    try FileManager.default.moveItem(atPath: parent.path + "/x", toPath: parent.path + "/was")
    try FileManager.default.createSymbolicLink(
      atPath: parent.path + "/x", withDestinationPath: elsewhere.path)
    _ = try? commit("b", as: "x/b", in: folder)
    #expect(elsewhere.names == [])
    folder.subfolders.forget()
    let failure = #expect(throws: DownloadFailure.self) { try commit("c", as: "x/c", in: folder) }
    #expect(failure?.reason == .name)
    #expect(elsewhere.names == [])
  }

  @Test("A file where a folder is wanted, and a folder where a file is, harm neither")
  func fileAndFolder() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    try commit("file", as: "a", in: folder)
    let failure = #expect(throws: DownloadFailure.self) { try commit("x", as: "a/b", in: folder) }
    #expect(failure?.reason == .name)
    try commit("x", as: "c/d", in: folder)
    #expect(try commit("file", as: "c", in: folder) == .taken)
    #expect(parent["a"] == Array("file".utf8) && parent["c/d"] == Array("x".utf8))
  }

  #if os(Linux)
    @Test("No descriptor stays open", arguments: [true, false])
    func descriptors(namelessFiles: Bool) throws {
      let parent = try TemporaryFolder()
      func open() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0))?
            .hasPrefix(parent.path) == true
        }
      }
      do {
        let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
        for number in 0..<60 {
          try commit("x", as: "\(number)/y/a", in: folder)
          try replace("x", as: "\(number)/y/a", in: folder)
          _ = try? commit("x", as: "\(number)/y/a/b", in: folder)
          #expect(try open() <= Subfolders.capacity + 4)
        }
      }
      #expect(try open() == 0)
    }
  #endif

  // MARK: - Looking things up

  @Test("The size of a file is known, and of nothing else")
  func sizes() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    try commit("12345", as: "x/a", in: folder)
    try commit("", as: "empty", in: folder)
    try FileManager.default.createSymbolicLink(
      atPath: parent.path + "/link", withDestinationPath: "empty")
    #expect(mkfifo(parent.path + "/pipe", 0o666) == 0)
    for (name, size) in [
      ("x/a", 5), ("empty", 0), ("none", nil), ("x", nil), ("x/none", nil), ("none/a", nil),
      ("link", nil), ("pipe", nil), ("empty/a", nil),
    ] as [(String, Int64?)] {
      #expect(try folder.size(of: path(name)) == size, "\(name)")
      let file = try folder.open(path(name))
      #expect((file != nil) == (size != nil), "\(name)")
      if let file { close(file) }
      let isThere = size != nil || ["x", "link", "pipe"].contains(name)
      #expect(try folder.hasEntry(path(name)) == isThere, "\(name)")
    }
    #expect(parent.names.contains("none") == false, "Looking makes no folders")
  }

  @Test("A file that is open can be read")
  func reading() throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    try commit("12345", as: "x/a", in: folder)
    let file = try #require(try folder.open(path("x/a")))
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 10)
    #expect(read(file, &bytes, 10) == 5)
    #expect(bytes.prefix(5) == ArraySlice("12345".utf8))
  }

  // MARK: - Replacing

  @Test("A file takes the place of another one", arguments: [true, false], ["a", "x/a"])
  func replacing(namelessFiles: Bool, name: String) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    for text in ["none before", "new", "newest", "newest"] {
      #expect(try replace(text, as: name, in: folder) == .committed)
      #expect(parent[name] == Array(text.utf8))
    }
    #expect(TemporaryFolder.names(in: parent.path + "/.batchwise") == [])
    #expect(visible(in: parent).count == 1)
  }

  @Test("Replacing a link replaces the link and not what it leads to", arguments: [true, false])
  func replacedLink(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let elsewhere = try TemporaryFolder()
    try elsewhere.write([1], to: "file")
    try FileManager.default.createSymbolicLink(
      atPath: parent.path + "/a", withDestinationPath: elsewhere.path + "/file")
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    try replace("new", as: "a", in: folder)
    #expect(elsewhere["file"] == [1])
    #expect(parent["a"] == Array("new".utf8))
  }

  @Test("A folder is not replaced, and nothing is left behind", arguments: [true, false])
  func replacedFolder(namelessFiles: Bool) throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path, namelessFiles: namelessFiles)
    try commit("x", as: "a/b", in: folder)
    let failure = #expect(throws: DownloadFailure.self) { try replace("new", as: "a", in: folder) }
    #expect(failure?.reason == .name)
    #expect(parent["a/b"] == Array("x".utf8))
    #expect(TemporaryFolder.names(in: parent.path + "/.batchwise") == [])
  }

  @Test("Whoever reads a file while it is replaced again and again finds a whole one")
  func wholeWhileReplaced() async throws {
    let parent = try TemporaryFolder()
    let folder = try OutputFolder(path: parent.path)
    let texts = ["a", "b"].map { String(repeating: $0, count: 20_000) }
    try replace(texts[0], as: "x/a", in: folder)
    try await withThrowingTaskGroup { group in
      group.addTask {
        for number in 0..<300 { try replace(texts[number % 2], as: "x/a", in: folder) }
      }
      group.addTask {
        for _ in 0..<300 {
          let bytes = parent["x/a"]
          let isWhole = texts.contains { Array($0.utf8) == bytes }
          #expect(isWhole)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("A path that is taken can be asked for first, and another one given then")
  func takenFirst() throws {
    let parent = try TemporaryFolder()
    try parent.write([1], to: "a")
    let folder = try OutputFolder(path: parent.path)
    var file = try PartialFile(in: folder)
    #expect(try file.commit(as: path("a"), replacing: false) == .taken)
    #expect(try file.commit(as: path("x/b"), replacing: false) == .committed)
    #expect(parent["a"] == [1] && parent["x/b"] == [])
  }

  // MARK: -

  /// A path as a list would give it.
  private func path(_ text: String) throws -> OutputPath { try OutputPath(listed: text) }

  @discardableResult
  private func commit(
    _ text: String, as name: String, in folder: OutputFolder, replacing: Bool = false
  ) throws -> CommitResult {
    var file = try PartialFile(in: folder)
    try Array(text.utf8).withUnsafeBytes { try file.write($0) }
    return try file.commit(as: path(name), replacing: replacing)
  }

  @discardableResult
  private func replace(
    _ text: String, as name: String, in folder: OutputFolder
  ) throws -> CommitResult {
    try commit(text, as: name, in: folder, replacing: true)
  }

  private func visible(in folder: TemporaryFolder) -> [String] {
    folder.names.filter { $0 != ".batchwise" }
  }
}
