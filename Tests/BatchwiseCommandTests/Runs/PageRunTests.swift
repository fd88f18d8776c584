// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import Glibc
import TestSupport
import Testing

extension CommandRuns {
  @Suite("The page of a batch, in a real browser")
  struct PageRunTests {
    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws { setting = try RunSetting() }

    /// The bytes of a small picture that no two numbers share.
    private func picture(_ number: Int) -> [UInt8] {
      // One pixel; what follows the end of a PNG is ignored.
      let pixel = Data(
        base64Encoded:
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg=="
      )
      return [UInt8](pixel ?? Data()) + Array("\(number)".utf8)
    }

    private func urls(_ count: Int) -> [String] { (1...count).map { origin.url("/\($0).png") } }

    /// Starts the command, and shows its page.
    private func open(
      _ arguments: [String] = [], list: [String]
    ) async throws -> (run: CommandRun, page: Chromium, address: String) {
      let run = try CommandRun(["serve", "-o", setting.output, "-n", "3"] + arguments + list)
      await run.wait(for: "/\n")
      let output = String(decoding: run.output.value, as: UTF8.self)
      let address = try #require(output.split(separator: " ").last?.dropLast())
      let page = try await Chromium()
      try await page.open(String(address))
      return (run, page, String(address))
    }

    private func end(_ run: CommandRun) async -> CommandRun.Ending {
      run.send(SIGINT)
      return await run.ending
    }

    private func summary(_ text: String) -> String {
      "document.getElementById('summary').textContent.startsWith('\(text)')"
    }

    @Test("Nothing starts before the button is pressed; then the pictures appear, in their order")
    func pictures() async throws {
      for number in 1...20 { origin.on("/\(number).png", .ok(picture(number))) }
      let (run, page, _) = try await open(list: urls(20))
      try await page.wait(
        until: "document.getElementById('primary').textContent === 'Download Batch'")
      try await page.wait(until: "document.querySelectorAll('.tile').length === 20")
      #expect(origin.record.requests.isEmpty)
      try await page.press("#primary")
      try await page.wait(until: summary("20 of 20 done"))
      try await page.wait(
        until: "[...document.images].filter((image) => image.naturalWidth === 1).length === 20")
      let names = try await page.evaluate(
        "[...document.querySelectorAll('.tile .name')].map((name) => name.textContent)")
      #expect(names == (1...20).map { "\($0).png" }.joined(separator: ","))
      #expect(try await page.evaluate("document.getElementById('state').textContent") == "All done")
      #expect(page.complaints == [])
      let ending = await end(run)
      #expect(ending.status == 0)
      #expect(setting.files.count == 20)
    }

    @Test(
      "A pause holds at once, what is in flight goes on, and the limit is what the origin counts")
    func pauseAndLimit() async throws {
      let first = MisbehavingOrigin.Gate()
      origin.onEverythingElse(.held(at: first, then: .ok(picture(0))))
      let (run, page, _) = try await open(["--per-host", "99"], list: urls(60))
      try await page.press("#primary")
      await first.arrivals(3)
      try await page.wait(until: "document.getElementById('primary').textContent === 'Pause'")
      try await page.press("#primary")
      try await page.wait(until: "document.getElementById('primary').textContent === 'Resume'")
      // Where six must be there at once, three would wait for ever.
      let second = MisbehavingOrigin.Gate(opensAt: 6)
      origin.onEverythingElse(.held(at: second, then: .ok(picture(0))))
      first.open()
      try await page.wait(until: summary("3 of 60 done · 0 in flight"))
      #expect(origin.record.requests.count == 3)
      #expect(origin.record.peakInFlight == 3)
      try await page.evaluate(
        """
        (() => {
          const slider = document.getElementById('limit');
          slider.value = 6;
          slider.dispatchEvent(new Event('input'));
        })()
        """)
      try await page.press("#primary")
      try await page.wait(until: summary("60 of 60 done"))
      #expect(origin.record.peakInFlight == 6)
      #expect(page.complaints == [])
      #expect(await end(run).status == 0)
    }

    @Test("What failed says why, and is done when it is asked for again; a reload keeps the state")
    func retryAndReload() async throws {
      origin.onEverythingElse(.ok(picture(1)))
      origin.on("/2.png", .inTurn([.status(404), .ok(picture(2))]))
      origin.on("/3.png", .inTurn([.status(410), .ok(picture(3))]))
      let (run, page, address) = try await open(list: urls(4))
      try await page.press("#primary")
      try await page.wait(until: summary("2 of 4 done · 2 failed"))
      try await page.wait(
        until: "document.querySelectorAll('.tile[data-kind=failed]').length === 2")
      let message = try await page.evaluate(
        "document.querySelector('.tile[data-kind=failed] .picture').textContent")
      #expect(message.contains("404"))

      try await page.open(address)
      try await page.wait(until: summary("2 of 4 done · 2 failed"))
      try await page.press(".tile[data-kind=failed] .retry")
      try await page.wait(until: summary("3 of 4 done · 1 failed"))
      try await page.press("#retry")
      try await page.wait(until: summary("4 of 4 done · 0 in flight"))
      #expect(page.complaints == [])
      #expect(await end(run).status == 0)
      setting.expectOnly(
        ["1.png": picture(1), "2.png": picture(2), "3.png": picture(3), "4.png": picture(1)])
    }

    @Test("Addresses are added while it runs, and a cancelled batch is started again")
    func addAndCancel() async throws {
      let gate = MisbehavingOrigin.Gate()
      origin.onEverythingElse(.ok(picture(1)))
      origin.on("/1.png", .held(at: gate, then: .ok(picture(1))))
      let (run, page, _) = try await open(list: urls(1))
      try await page.press("#primary")
      await gate.arrivals(1)
      try await page.press("#add")
      try await page.evaluate("document.getElementById('urls').focus()")
      try await page.type(
        "\(origin.url("/7.png"))\n# a remark\n\nno address\n\(origin.url("/8.png"))")
      try await page.press("#adding button")
      try await page.wait(until: "document.getElementById('added').textContent === '3 added'")
      try await page.wait(until: summary("2 of 4 done · 1 failed"))
      try await page.press("#cancel")
      try await page.wait(until: "document.getElementById('state').textContent === 'Cancelled'")
      gate.open()
      try await page.press("#primary")
      try await page.wait(until: summary("3 of 4 done · 1 failed"))
      #expect(page.complaints == [])
      let ending = await end(run)
      #expect(ending.status == 1)
      #expect(ending.errors.contains("bad-url"))
      #expect(setting.files == ["1.png", "7.png", "8.png"])
    }

    @Test("The keyboard goes through the tiles, also to those that are not in the page yet")
    func keyboard() async throws {
      origin.onEverythingElse(.ok(picture(1)))
      let (run, page, _) = try await open(list: urls(300))
      try await page.wait(until: "document.querySelectorAll('.tile').length > 0")
      try await page.evaluate("document.querySelector('.tile').focus()")
      try await page.type(key: "ArrowRight", code: 39)
      try await page.wait(until: "document.activeElement.dataset.place === '1'")
      try await page.type(key: "End", code: 35)
      try await page.wait(until: "document.activeElement.dataset.place === '299'")
      #expect(
        try await page.evaluate("document.activeElement.querySelector('.name').textContent")
          == "300.png")
      #expect(try await page.evaluate("document.querySelectorAll('.tile').length < 100") == "true")
      // Whoever has them read out hears them in their order, also those that have come in from above; the
      // one with the focus stays, however far away it is.
      try await page.evaluate("scrollTo(0, scrollY - 3000)")
      try await page.wait(
        until: """
          (() => {
            const places = [...document.querySelectorAll('.tile')].map((tile) => +tile.dataset.place);
            return places[0] < 270 && places.every((place, index) => !index || place > places[index - 1]);
          })()
          """)
      try await page.type(key: "Home", code: 36)
      try await page.wait(until: "document.activeElement.dataset.place === '0'")
      #expect(page.complaints == [])
      #expect(await end(run).status == 130)
    }

    @Test("It fits a phone, and both kinds of light")
    func sizes() async throws {
      for number in 1...20 { origin.on("/\(number).png", .ok(picture(number))) }
      let (run, page, _) = try await open(["--start"], list: urls(20))
      try await page.wait(until: summary("20 of 20 done"))
      for (width, height) in [(360, 740), (1280, 900)] {
        try await page.resize(width: width, height: height, isPhone: width < 500)
        try await page.wait(until: "window.innerWidth === \(width)")
        #expect(try await page.evaluate("document.documentElement.scrollWidth") == "\(width)")
      }
      let background = "getComputedStyle(document.body).backgroundColor"
      try await page.prefer(colorScheme: "light")
      let light = try await page.evaluate(background)
      try await page.prefer(colorScheme: "dark")
      #expect(try await page.evaluate(background) != light)
      #expect(page.complaints == [])
      #expect(await end(run).status == 0)
    }

    @Test("Pictures of it for the documentation", .enabled(if: screenshotFolder != nil))
    func screenshots() async throws {
      let run = try CommandRun(["demo", "--serve", "-o", setting.output])
      await run.wait(for: "/\n")
      let output = String(decoding: run.output.value, as: UTF8.self)
      let address = try #require(output.firstMatch(of: /http\S+\/\n/)?.0.dropLast())
      let page = try await Chromium(width: 1280, height: 860)
      try await page.open(String(address))
      try await page.wait(until: "document.querySelectorAll('.tile').length === 20")
      let origin = try await page.evaluate("document.querySelector('.tile .name').title")
      try await page.press("#add")
      try await page.evaluate("document.getElementById('urls').focus()")
      try await page.type(origin.replacing("01.png", with: "21.png"))
      try await page.press("#adding button")
      try await page.press("#add")
      try await page.press("#primary")
      func save(_ name: String) async throws {
        let folder = URL(filePath: screenshotFolder ?? ".")
        try await page.screenshot().write(to: folder.appending(path: name))
      }
      try await page.wait(
        until: "[...document.images].filter((image) => image.complete).length >= 11")
      try await save("desktop.png")
      try await page.resize(width: 375, height: 740, isPhone: true)
      try await page.prefer(colorScheme: "dark")
      try await page.wait(
        until: "document.querySelectorAll('.tile[data-kind=failed]').length || status.kinds.failed")
      try await page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
      try await page.wait(
        until:
          "document.querySelector('.tile[data-kind=failed]') && [...document.images].every((image) => image.complete)"
      )
      try await save("phone.png")
      _ = await end(run)
    }
  }
}

/// Where pictures of the page shall go, if somebody wants them.
private let screenshotFolder = ProcessInfo.processInfo.environment["BATCHWISE_SCREENSHOTS"]
