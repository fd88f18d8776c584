// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// What lies in the folder. No link is followed, neither at the end of a path nor on the way.
extension OutputFolder {
  /// The length of a file, or nil if there is none: nothing, or something else than a regular file.
  func size(of path: OutputPath) throws(SystemError) -> Int64? {
    guard let status = try status(of: path), status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int64(status.st_size)
  }

  /// Whether there is something of that name, whatever it is.
  func hasEntry(_ path: OutputPath) throws(SystemError) -> Bool { try status(of: path) != nil }

  /// Opens a regular file for reading, or returns nil if there is none; the caller closes it.
  func open(_ path: OutputPath) throws(SystemError) -> Int32? {
    try find(path) { folder, name in
      // Something else than a file is not waited for, such as the other end of a pipe.
      let file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard file >= 0 else { return nil }
      var status = stat()
      guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        close(file)
        errno = ENOENT
        return nil
      }
      return file
    }
  }

  /// Does what gives a file its name, in the folder that the path names, which is made if it is missing,
  /// and returns the error if that fails.
  ///
  /// The body returns 0, or sets `errno`; it is called again if the folder was removed meanwhile.
  ///
  /// - Throws: A `name` failure when a link or a file is in the way, a `disk` failure when a folder
  ///   cannot be made.
  func name(
    _ path: OutputPath, _ body: (_ folder: Int32, _ name: String) -> Int32
  ) throws(DownloadFailure) -> SystemError? {
    let name = path.name
    for isLast in [false, true] {
      let folder: OpenFile
      do throws(SystemError) {
        folder = try subfolders.folder(path.folder, isMade: true)
      } catch {
        if error.code == ENOENT, !isLast {
          subfolders.forget()
          continue
        }
        throw DownloadFailure(inTheWayOf: path, error)
      }
      if body(folder.number, name) == 0 { return nil }
      let error = SystemError(errno)
      guard error.code == ENOENT, !isLast, path.folder != nil else { return error }
      subfolders.forget()
    }
    return SystemError(ENOENT)
  }

  // MARK: -

  private func status(of path: OutputPath) throws(SystemError) -> stat? {
    try find(path) { folder, name in
      var status = stat()
      return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }
  }

  /// Looks something up in the folder that the path names.
  ///
  /// The body returns what it found, or nil with `errno`.
  private func find<Found>(
    _ path: OutputPath, _ body: (_ folder: Int32, _ name: String) -> Found?
  ) throws(SystemError) -> Found? {
    for isLast in [false, true] {
      do throws(SystemError) {
        let folder = try subfolders.folder(path.folder, isMade: false)
        if let found = body(folder.number, path.name) { return found }
        throw SystemError(errno)
      } catch {
        switch error.code {
        case ENOENT:
          // A folder that is kept open may have been removed, and another one made in its place.
          if isLast || path.folder == nil { return nil }
          subfolders.forget()
        case ENOTDIR, ELOOP, ENXIO: return nil
        default: throw error
        }
      }
    }
    return nil
  }
}

extension DownloadFailure {
  /// What keeps a folder from being made or opened.
  fileprivate init(inTheWayOf path: OutputPath, _ error: SystemError) {
    switch error.code {
    case ENOTDIR, ELOOP:
      self.init(
        .name, "On the way to “\(path)” something in the output folder is a link or a file")
    default: self.init(naming: path, error)
    }
  }

  /// What keeps a file from getting its name.
  init(naming path: OutputPath, _ error: SystemError) {
    switch error.code {
    case ENAMETOOLONG, EILSEQ:
      self.init(.name, "The file system takes no name like “\(path)”: \(error)")
    case EISDIR, ENOTEMPTY, EEXIST: self.init(.name, "“\(path)” is a folder")
    case EBUSY: self.init(.name, "“\(path)” is a file that this run itself uses")
    default: self.init(disk: error)
    }
  }
}
