// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Opening what a run needs, so that nothing is started unless all of it is there.
extension Fetch {
  /// The arguments, then the list.
  func openList() throws(Refusal) -> some WorkSource {
    var list: URLListReader?
    if let path = options.input, path != "-" {
      list = URLListReader(descriptor: try openFile(path), closesDescriptor: true)
    } else if options.input == "-" || options.urls.isEmpty {
      guard isatty(0) == 0 else {
        throw Refusal(
          .usage, "there is no list: give URLs, -i FILE, or a list on standard input")
      }
      list = URLListReader(descriptor: 0)
    }
    return ArgumentsThenList(arguments: WorkList(addresses: options.urls), list: list)
  }

  private func openFile(_ path: String) throws(Refusal) -> Int32 {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Refusal(.usage, "--input \(path): \(SystemError(errno))") }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      close(file)
      throw Refusal(.usage, "--input \(path): this is a folder; give a file of URLs")
    }
    return file
  }

  func openFolder() throws(Refusal) -> OutputFolder {
    do throws(OutputFolderError) {
      return try OutputFolder(path: options.output)
    } catch {
      throw Refusal(.cannotCreate, "--output \(options.output): \(error.cause)")
    }
  }

  func openEvents() throws(Refusal) -> EventWriter? {
    guard let path = options.events else { return nil }
    if path == "-" { return EventWriter(to: .standardOutput) }
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw Refusal(.cannotCreate, "--events \(path): \(SystemError(errno))") }
    return EventWriter(to: OutputStream(descriptor: file))
  }

  /// The limit, lowered if the system allows too few open files for it.
  ///
  /// Raises what this process may open as far as it is allowed to. An item in flight needs a
  /// connection and a file; the rest is for idle connections and the program itself.
  func limit() -> Int {
    var files = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &files) == 0 else { return options.limit }
    files.rlim_cur = files.rlim_max
    setrlimit(resource, &files)
    guard getrlimit(resource, &files) == 0 else { return options.limit }
    let most = max(1, (Int(clamping: files.rlim_cur) - 64) / 3)
    if options.limit > most, !options.isQuiet {
      OutputStream.standardError.write(
        "batchwise: --limit \(options.limit): the system allows open files for \(most) only\n")
    }
    return min(options.limit, most)
  }
}

/// The addresses given as arguments, and then those of a list.
private struct ArgumentsThenList: WorkSource {
  var arguments: WorkList
  var list: URLListReader?

  mutating func next(upTo count: Int) async throws -> [WorkItem]? {
    if let items = arguments.next(upTo: count) { return items }
    return try await list?.next(upTo: count)
  }
}
