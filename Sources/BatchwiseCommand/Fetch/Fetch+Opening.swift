// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import SQLiteJournal

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Opening what a run needs, so that nothing is started unless all of it is there.
extension Fetch {
  /// The descriptor of the list, or nil if all there is are arguments.
  func openList() throws(Refusal) -> Int32? {
    if let path = options.input, path != "-" {
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { throw Refusal(.usage, of: "--input", path, "\(SystemError(errno))") }
      guard !Self.isFolder(file) else {
        throw Refusal(.usage, of: "--input", path, "this is a folder; give a file of URLs")
      }
      return file
    }
    guard options.input == "-" || options.urls.isEmpty else { return nil }
    // A page has a list of its own, which begins empty.
    if options.page != nil, options.input == nil, isatty(0) != 0 { return nil }
    let flags = fcntl(0, F_GETFL)
    guard flags >= 0, flags & O_ACCMODE != O_WRONLY, isatty(0) == 0 else {
      throw Refusal(
        .usage, "there is no list", "give URLs, -i FILE, or a list on standard input")
    }
    guard !Self.isFolder(0) else {
      throw Refusal(.usage, "standard input", "this is a folder; give a list of URLs")
    }
    return 0
  }

  func openFolder() throws(Refusal) -> OutputFolder {
    do throws(OutputFolderError) {
      return try OutputFolder(path: options.output)
    } catch {
      throw Refusal(.cannotCreate, of: "--output", options.output, "\(error.cause)")
    }
  }

  /// Opens the journal for the run, or returns nil where nothing is to be remembered.
  func openJournal(in folder: OutputFolder) async throws(Refusal) -> SQLiteJournal? {
    guard options.usesJournal else { return nil }
    let path: String
    do throws(OutputFolderError) {
      if let named = options.journal { path = named } else { path = try folder.journalPath() }
    } catch {
      throw Refusal(.cannotCreate, error.path, "\(error.cause)")
    }
    do throws(JournalError) {
      let journal = try SQLiteJournal.open(path: path, discardingUnusable: options.isFresh)
      if options.isFresh { try await journal.forget() }
      return journal
    } catch {
      throw Refusal(error)
    }
  }

  /// Keeps the files that the run uses from being replaced by what it downloads.
  func protect(_ descriptors: [Int32?], in folder: OutputFolder) {
    for descriptor in descriptors.compactMap(\.self) { folder.protect(descriptor) }
    guard let journal = options.journal else { return }
    for path in SQLiteJournal.files(at: journal) { folder.protect(path: path) }
  }

  /// Opens the file for what is not done at the end, unless it is the list.
  func openUnfinished(besides list: Int32?) throws(Refusal) -> OutputStream? {
    guard let path = options.unfinished else { return nil }
    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw Refusal(.cannotCreate, of: "--unfinished", path, "\(SystemError(errno))")
    }
    if let list, Self.isSameFile(list, file) {
      close(file)
      throw Refusal(.usage, of: "--unfinished", path, "this is the list; give another file")
    }
    return OutputStream(descriptor: file)
  }

  /// Where in the list its first line is, or nil if it is no file that could be read again.
  static func start(of list: Int32) -> off_t? {
    var status = stat()
    guard fstat(list, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let start = lseek(list, 0, SEEK_CUR)
    return start >= 0 ? start : nil
  }

  /// Opens the events file, unless it is the list: that would be lost, or be read on and on for what
  /// is written at its end.
  func openEvents(besides list: Int32?) throws(Refusal) -> EventWriter? {
    guard let path = options.events else { return nil }
    let file = path == "-" ? 1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
    guard file >= 0 else {
      throw Refusal(.cannotCreate, of: "--events", path, "\(SystemError(errno))")
    }
    if let list, Self.isSameFile(list, file) {
      throw Refusal(.usage, of: "--events", path, "this is the list; give another file")
    }
    return EventWriter(to: OutputStream(descriptor: file))
  }

  private static func isFolder(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func isSameFile(_ one: Int32, _ other: Int32) -> Bool {
    var (first, second) = (stat(), stat())
    return fstat(one, &first) == 0 && fstat(other, &second) == 0
      && first.st_mode & S_IFMT == S_IFREG
      && (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
  }

  /// The limit, lowered if too few files may be open for it.
  ///
  /// An item in flight needs a connection and a file; the rest is for idle connections and the program
  /// itself.
  func limit(for openFiles: Int) -> Int {
    let limit = options.run.limit
    let most = max(1, (openFiles - 64) / 3)
    if limit > most, !options.isQuiet {
      OutputStream.standardError.write(
        "batchwise: --limit \(limit): lowered to \(most), for this process may open only "
          + "\(openFiles) files\n")
    }
    return min(limit, most)
  }
}
