// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Makes sure of what the command takes for granted, whoever started it.
func prepareProcess() {
  batchwise_share_memory_between_threads()
  InterruptSignals.hold()
  // A reader that has gone, or a file that may not grow, is an error to deal with and not the end
  // of the process.
  signal(SIGPIPE, SIG_IGN)
  signal(SIGXFSZ, SIG_IGN)
  // A download or a connection must not get the number of a standard descriptor that was closed:
  // what is said on standard error would end up in it. Each is opened the wrong way round, so that
  // using it is an error still.
  for (number, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] {
    if fcntl(number, F_GETFD) < 0 { _ = open("/dev/null", mode) }
  }
}

/// What was typed after the command's name.
///
/// - Throws: A refusal of what is no text, for it could not be kept as it is, and a folder would get
///   another name.
func typedArguments() throws(Refusal) -> [String] {
  var arguments: [String] = []
  for (index, word) in UnsafeBufferPointer(
    start: CommandLine.unsafeArgv, count: Int(CommandLine.argc)
  ).enumerated().dropFirst() {
    guard let word, let text = String(validatingCString: word) else {
      let shown = word.map { String(cString: $0) } ?? ""
      throw Refusal(.usage, shown, "argument \(index) is not text in UTF-8")
    }
    arguments.append(text)
  }
  return arguments
}
