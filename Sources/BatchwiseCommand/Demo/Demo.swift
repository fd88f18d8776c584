// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// `batchwise demo`: a fetch of 20 pictures from the origin inside the program.
struct Demo {
  var options: FetchOptions

  /// Downloads the pictures and says what happened, as the origin saw it too.
  func run() async throws(Refusal) -> ExitStatus {
    let origin: DemoOrigin
    do throws(DemoOrigin.CannotServe) {
      origin = try DemoOrigin()
    } catch {
      throw Refusal(.inputOutput, "the demo's origin cannot be started", "\(error)")
    }
    defer { origin.stop() }
    var options = options
    options.urls = origin.urls
    if options.output.isEmpty { options.output = try temporaryFolder() }
    let talks = !options.isQuiet && options.events != "-"
    if talks {
      OutputStream.standardOutput.write(
        "Downloading \(origin.urls.count) pictures, at most \(options.run.limit) at once, "
          + "from 127.0.0.1:\(origin.port)\n")
    }
    let status = try await Fetch(options: options, describe: talks ? Self.line : nil).run()
    if talks {
      OutputStream.standardOutput.write(
        """
        The origin saw \(origin.requests) requests, and at most \(origin.peakInFlight) in flight at once.
        The pictures are in \(shown(options.output))

        """)
    }
    return status
  }

  /// One line for each picture.
  private static func line(_ event: DownloadEvent) -> String? {
    switch event.kind {
    case .started, .retry: nil
    case .done(let file):
      "  \(file.name)  \(formatted(bytes: file.bytes)) in "
        + "\(formatted(number: file.duration.inSeconds)) s"
    case .skipped(_, let file): "  \(file ?? event.url)  was there already"
    case .failed(let failure, _): "  \(event.url)  failed: \(failure.message)"
    }
  }

  private func temporaryFolder() throws(Refusal) -> String {
    let parent = environment("TMPDIR") ?? "/tmp"
    var path = Array("\(parent)/batchwise-demo-XXXXXX".utf8CString)
    guard mkdtemp(&path) != nil else {
      throw Refusal(.cannotCreate, parent, "no folder can be made here: \(SystemError(errno))")
    }
    return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension FetchOptions {
  /// What `batchwise demo` does unless told otherwise.
  static let demo: FetchOptions = {
    var options = FetchOptions()
    options.output = ""
    options.run.limit = 3
    // There is one host only.
    options.run.limitPerHost = .max
    return options
  }()
}
