// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import TestSupport

/// A real browser without a window, with one page in it, asked and answered through a pipe in the words of
/// its DevTools protocol.
final class Chromium: Sendable {
  /// Why the browser did not do what it was told.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let process: pid_t
  private let profile: TemporaryFolder
  private let toBrowser: Int32
  private let fromBrowser: FileHandle
  /// One question after the other, on a thread that may wait for its answer.
  private let queue = DispatchQueue(label: "chromium")
  private let state = Mutex(State())

  private struct State {
    var number = 0
    var session: String?
    var rest: [UInt8] = []
    var complaints: [String] = []
  }

  /// Starts the browser with an empty page of that size.
  init(width: Int = 1280, height: Int = 900) async throws {
    profile = try TemporaryFolder()
    let questions = try Self.makePipe()
    let answers = try Self.makePipe()
    let words = [
      "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
      "--remote-debugging-pipe", "--user-data-dir=\(profile.path)", "--no-first-run",
      "--disable-background-networking", "--disable-dev-shm-usage",
    ]
    process = try spawn(
      words, environment: ProcessInfo.processInfo.environment, closingFrom: 5
    ) { actions in
      for number in 0...2 as ClosedRange<Int32> {
        posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      }
      posix_spawn_file_actions_adddup2(&actions, questions.read, 3)
      posix_spawn_file_actions_adddup2(&actions, answers.write, 4)
    }
    close(questions.read)
    close(answers.write)
    toBrowser = questions.write
    fromBrowser = FileHandle(fileDescriptor: answers.read, closeOnDealloc: true)
    let target = try await ask("Target.createTarget", ["url": "about:blank"])
    let session = try await ask(
      "Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
    state.withLock { $0.session = session["sessionId"] as? String }
    for domain in ["Page", "Runtime", "Log"] { _ = try await ask("\(domain).enable") }
    try await resize(width: width, height: height)
  }

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    close(toBrowser)
  }

  /// What the page's program has thrown or complained of so far, and what the browser refused it.
  var complaints: [String] { state.withLock { $0.complaints } }

  // MARK: - What is done with the page

  /// Shows the page at an address, and waits until it is there.
  func open(_ address: String) async throws {
    let old = try await evaluate("performance.timeOrigin")
    _ = try await ask("Page.navigate", ["url": address])
    // A page that is about to go takes its answers with it.
    while (try? await evaluate(
      "document.readyState === 'complete' && performance.timeOrigin != \(old)"))
      != "true"
    {}
  }

  /// Gives the page another size, and a screen of a phone or of a desk.
  func resize(width: Int, height: Int, isPhone: Bool = false) async throws {
    _ = try await ask(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": isPhone])
  }

  /// Shows the page as those see it who like it dark, or light.
  func prefer(colorScheme: String) async throws {
    _ = try await ask(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": colorScheme]]])
  }

  /// Evaluates an expression in the page, and awaits it if it is a promise.
  @discardableResult
  func evaluate(_ expression: String) async throws -> String {
    let answer = try await ask(
      "Runtime.evaluate",
      ["expression": "(async () => String(await (\(expression))))()", "awaitPromise": true])
    if let problem = answer["exceptionDetails"] as? [String: Any] {
      let thrown = problem["exception"] as? [String: Any]
      throw Failure(description: "\(expression): \(thrown?["description"] ?? problem)")
    }
    return (answer["result"] as? [String: Any])?["value"] as? String ?? ""
  }

  /// Waits until an expression is true in the page.
  func wait(until expression: String) async throws {
    try await evaluate(
      """
      new Promise((done, fail) => {
        const end = performance.now() + 20000;
        const holds = () => { try { return \(expression); } catch { return false; } };
        const look = () => holds() ? done() : performance.now() > end
          ? fail(new Error("not so within 20 s; " + document.body.innerText.slice(0, 600)))
          : setTimeout(look, 5);
        look();
      })
      """)
  }

  /// Presses a button.
  func press(_ selector: String) async throws {
    try await wait(until: "document.querySelector('\(selector)')?.disabled === false")
    try await evaluate("document.querySelector('\(selector)').click()")
  }

  /// Presses a key of the keyboard, such as `Tab` or `ArrowRight`.
  func type(key: String, code: Int) async throws {
    for kind in ["keyDown", "keyUp"] {
      _ = try await ask(
        "Input.dispatchKeyEvent",
        [
          "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
          "text": key == "Enter" && kind == "keyDown" ? "\r" : "",
        ])
    }
  }

  /// Types a text where the focus is.
  func type(_ text: String) async throws {
    _ = try await ask("Input.insertText", ["text": text])
  }

  /// What the page looks like, as a PNG picture.
  func screenshot() async throws -> Data {
    let answer = try await ask("Page.captureScreenshot", ["format": "png"])
    return Data(base64Encoded: answer["data"] as? String ?? "") ?? Data()
  }

  // MARK: - The pipe

  private static func makePipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw SystemFailure("pipe") }
    // Far from the numbers that the browser is to find them under.
    let moved = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
    ends.forEach { close($0) }
    return (moved[0], moved[1])
  }

  private func ask(
    _ method: String, _ parameters: sending [String: Any] = [:]
  ) async throws -> [String: Any] {
    let question = state.withLock { state in
      state.number += 1
      var question: [String: Any] = ["id": state.number, "method": method]
      question["sessionId"] = state.session
      return (number: state.number, fields: question)
    }
    var fields = question.fields
    fields["params"] = parameters
    let bytes = try JSONSerialization.data(withJSONObject: fields) + [0]
    let number = question.number
    let answer = try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(with: Result { try exchange(bytes, number) })
      }
    }
    let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any] ?? [:]
    if let error = object["error"] { throw Failure(description: "\(method): \(error)") }
    return object["result"] as? [String: Any] ?? [:]
  }

  /// Sends a question, and reads up to its answer.
  private func exchange(_ question: Data, _ number: Int) throws -> Data {
    let sent = question.withUnsafeBytes { write(toBrowser, $0.baseAddress, $0.count) }
    guard sent == question.count else { throw Failure(description: "The browser has gone") }
    while true {
      let message = try nextMessage()
      let object = try JSONSerialization.jsonObject(with: message) as? [String: Any] ?? [:]
      if object["id"] as? Int == number { return message }
      note(object)
    }
  }

  private func nextMessage() throws -> Data {
    try state.withLock { state in
      while true {
        if let end = state.rest.firstIndex(of: 0) {
          defer { state.rest.removeFirst(end + 1) }
          return Data(state.rest[..<end])
        }
        let bytes = fromBrowser.availableData
        guard !bytes.isEmpty else { throw Failure(description: "The browser has gone") }
        state.rest += bytes
      }
    }
  }

  private func note(_ event: [String: Any]) {
    let parameters = event["params"] as? [String: Any]
    switch event["method"] as? String {
    case "Runtime.exceptionThrown": break
    case "Log.entryAdded":
      // An answer of an error status is the page's business.
      let entry = parameters?["entry"] as? [String: Any]
      if entry?["source"] as? String == "network" { return }
    default: return
    }
    state.withLock { $0.complaints.append("\(parameters ?? [:])") }
  }
}
