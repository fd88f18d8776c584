// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import Glibc
import Synchronization
import TestSupport

@testable import BatchwiseCommand

/// The command's own, which the library of the tests has a namesake of.
typealias CommandStatus = ExitStatus

/// One run of the built command, as a person or a script would start it: no shell in between.
///
/// A run that lasts longer than 40 seconds is killed, and so is one that nobody holds any more.
final class CommandRun: Sendable {
  /// What the command finds as one of its standard descriptors.
  enum Stream {
    /// `/dev/null`.
    case nothing
    /// A text and then its end, for input.
    case text(String)
    /// A pipe that is read at once, for output.
    case captured
    /// A terminal that is read at once, for output.
    case terminal(columns: UInt16)
    /// A pipe or a terminal that the test itself reads, writes, leaves alone or closes.
    case wire(Wire)
    /// A file or a folder; one for output is written at its end, and made if it is missing.
    case file(String)
    /// Nothing: the descriptor is closed.
    case closed
  }

  /// How a run ended.
  struct Ending: Sendable {
    /// The exit status, or minus the number of the signal that ended it.
    var status: Int32
    /// What was captured of standard output.
    var output: String
    /// What was captured of standard error.
    var errors: String
    /// How long it has kept a processor busy.
    var processorTime: Duration
  }

  /// What the kernel calls the process.
  let process: pid_t
  /// What has been captured of standard output so far.
  let output = Watched<[UInt8]>([])
  /// What has been captured of standard error so far.
  let errors = Watched<[UInt8]>([])

  /// Kept open for as long as the run is held.
  private let wires: [Wire?]
  private let status = Mutex<Int32?>(nil)
  private let processorTime = Mutex(Duration.zero)
  /// How many are still at work: those who read what is captured, and who waits for the process.
  private let readers = Watched(0)

  /// Starts the command.
  ///
  /// - Parameters:
  ///   - arguments: What is typed after its name.
  ///   - input: Its standard input.
  ///   - output: Its standard output.
  ///   - errors: Its standard error.
  ///   - environment: Variables beside or in place of those of the test.
  ///   - wrapper: A program that starts the command in its own place, such as `prlimit`.
  /// - Throws: ``SystemFailure`` if it cannot be started.
  init(
    _ arguments: [String], input: Stream = .nothing, output: Stream = .captured,
    errors: Stream = .captured, environment: [String: String] = [:], through wrapper: [String] = []
  ) throws {
    let streams = [input, output, errors]
    let wires = try streams.map { try $0.makeWire() }
    self.wires = wires
    process = try spawn(
      wrapper + [Self.program()] + arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }
    ) { actions in
      for (number, (stream, wire)) in zip(streams, wires).enumerated() {
        stream.connect(wire, to: &actions, as: Int32(number))
      }
    }
    for wire in wires { wire?.closeTheirs() }
    write(input, to: wires[0])
    read(output, from: wires[1], into: self.output)
    read(errors, from: wires[2], into: self.errors)
    inThread { run in run.reap() }
    DispatchQueue.global().asyncAfter(deadline: .now() + 40) { [weak self] in self?.send(SIGKILL) }
  }

  deinit { send(SIGKILL) }

  /// Starts the command and waits until it has ended.
  static func ending(
    _ arguments: [String], input: Stream = .nothing, errors: Stream = .captured,
    environment: [String: String] = [:], through wrapper: [String] = []
  ) async throws -> Ending {
    try await CommandRun(
      arguments, input: input, errors: errors, environment: environment, through: wrapper
    ).ending
  }

  /// Whether the command has not ended yet.
  var isRunning: Bool { status.withLock { $0 == nil } }

  /// Sends a signal, unless the command has ended.
  func send(_ signal: Int32) {
    status.withLock { status in
      if status == nil { kill(process, signal) }
    }
  }

  /// Waits until the command has ended and what is captured has been read.
  var ending: Ending {
    get async {
      await readers.wait { $0 == 0 }
      return Ending(
        status: status.withLock { $0 } ?? .min,
        output: String(decoding: output.value, as: UTF8.self),
        errors: String(decoding: errors.value, as: UTF8.self),
        processorTime: processorTime.withLock { $0 })
    }
  }

  /// Waits until a text has been written to standard output so many times, or the command has ended.
  func wait(for text: String, times: Int = 1) async {
    let bytes = Array(text.utf8)
    let readers = readers
    await output.wait { $0.ranges(of: bytes).count >= times || readers.value == 0 }
  }

  /// A line of what the kernel tells of the process, without its name and its unit.
  func kernelStatus(_ name: String) throws -> String {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    let words = line?.split(whereSeparator: \.isWhitespace) ?? []
    return words.count > 1 ? String(words[1]) : ""
  }

  /// The most memory that the command has held so far, in KiB.
  var peakMemory: Int {
    get throws { Int(try kernelStatus("VmHWM")) ?? 0 }
  }

  /// Waits until the command has taken a signal that was sent.
  func waitUntilTaken(_ signal: Int32) async throws {
    while let pending = UInt64(try kernelStatus("ShdPnd"), radix: 16),
      pending & 1 << UInt64(signal - 1) != 0
    {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  // MARK: -

  private func write(_ stream: Stream, to wire: Wire?) {
    guard let wire, case .text(let text) = stream else { return }
    Thread.detachNewThread {
      wire.write(text)
      wire.close()
    }
  }

  private func read(_ stream: Stream, from wire: Wire?, into captured: Watched<[UInt8]>) {
    guard let wire, stream.isCaptured else { return }
    inThread { _ in
      while case let bytes = wire.readBlocking(), !bytes.isEmpty { captured.update { $0 += bytes } }
    }
  }

  private func reap() {
    // The process keeps its number until it is reaped, so no signal reaches another by mistake.
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    status.withLock { status in
      var word: Int32 = 0
      var usage = rusage()
      wait4(process, &word, 0, &usage)
      processorTime.withLock { $0 = Duration(usage.ru_utime) + Duration(usage.ru_stime) }
      status = word & 0x7f == 0 ? word >> 8 & 0xff : -(word & 0x7f)
    }
  }

  private func inThread(_ body: @escaping @Sendable (CommandRun) -> Void) {
    readers.update { $0 += 1 }
    Thread.detachNewThread { [self] in
      body(self)
      readers.update { $0 -= 1 }
      output.update { _ in }  // Who waits for a text shall see that none will come.
    }
  }

  /// The command that was built together with these tests.
  private static func program() throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(filePath: tests).deletingLastPathComponent().appending(path: "batchwise")
      .path(percentEncoded: false)
  }
}

extension Duration {
  fileprivate init(_ time: timeval) {
    self = .seconds(time.tv_sec) + .microseconds(time.tv_usec)
  }
}

extension CommandRun.Stream {
  fileprivate var isCaptured: Bool {
    switch self {
    case .captured, .terminal: true
    default: false
    }
  }

  fileprivate func makeWire() throws -> Wire? {
    switch self {
    case .text: try .input()
    case .captured: try .output()
    case .terminal(let columns): try .terminal(columns: columns)
    case .wire(let wire): wire
    case .nothing, .file, .closed: nil
    }
  }

  fileprivate func connect(
    _ wire: Wire?, to actions: inout posix_spawn_file_actions_t, as number: Int32
  ) {
    let flags = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND
    switch self {
    case .nothing: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    case .file(let path): posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o666)
    case .closed: posix_spawn_file_actions_addclose(&actions, number)
    case .text, .captured, .terminal, .wire:
      if let wire { posix_spawn_file_actions_adddup2(&actions, wire.theirs, number) }
    }
  }
}
