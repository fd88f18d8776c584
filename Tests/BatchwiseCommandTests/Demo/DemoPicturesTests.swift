// SPDX-License-Identifier: Apache-2.0

import CZlib
import Testing

@testable import BatchwiseCommand

@Suite("The demo's pictures", .timeLimit(.minutes(1)))
struct DemoPicturesTests {
  /// All of them, drawn once for all tests.
  static let pictures = (1...DemoPictures.count).map(DemoPictures.png)

  @Test("There are twenty, all different, none of them large")
  func twenty() {
    #expect(Self.pictures.count == 20)
    #expect(Set(Self.pictures).count == 20)
    #expect(Self.pictures.allSatisfy { (4_096...131_072).contains($0.count) })
  }

  @Test("A picture is the same every time it is drawn")
  func repeatable() {
    #expect(DemoPictures.png(8) == Self.pictures[7])
  }

  @Test("Each is a valid PNG file of 480 × 320 pixels", arguments: 1...20)
  func valid(number: Int) throws {
    let picture = try DecodedPNG(Self.pictures[number - 1])
    #expect(picture.width == 480)
    #expect(picture.height == 320)
    #expect(picture.pixels.count == 480 * 320 * 3)
    // Not one flat colour.
    #expect(Set(picture.pixels).count > 50)
  }

  @Test("A decoder finds the colours that were painted")
  func colours() throws {
    let canvas = Canvas(width: 3, height: 2, from: Colour(0x010203), to: Colour(0xfffefd))
    let picture = try DecodedPNG(canvas.png())
    #expect(picture.width == 3)
    #expect(picture.height == 2)
    #expect(
      picture.pixels == [1, 2, 3, 1, 2, 3, 1, 2, 3] + [255, 254, 253, 255, 254, 253, 255, 254, 253])
  }

  @Test("Painting past every edge stays on the sheet")
  func edges() throws {
    var canvas = Canvas(width: 4, height: 4, from: Colour(0x000000), to: Colour(0x000000))
    let white = Colour(0xffffff)
    for far: Float in [-50, 0, 4, 50] {
      canvas.disc(x: far, y: -far, radius: 9, white)
      canvas.glow(x: -far, y: far, radius: 9, white, opacity: 1)
      canvas.crescent(x: far, y: far, radius: 9, white)
      canvas.land(below: { _ in far }, from: white, to: white, depth: 1)
      canvas.veil(above: { _ in far }, reach: 9, white, opacity: 1)
      canvas.bar(x: far, y: Int(far), length: 9, white, opacity: 1)
    }
    #expect(try DecodedPNG(canvas.png()).pixels == [UInt8](repeating: 255, count: 48))
  }
}

/// A strict reader of the one kind of PNG file that the encoder writes.
///
/// It shares nothing with the encoder but zlib's inverse, and computes the checksums itself.
private struct DecodedPNG {
  struct Malformed: Error {
    var what: String
  }

  let width: Int
  let height: Int
  let pixels: [UInt8]

  init(_ file: [UInt8]) throws {
    guard file.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) else {
      throw Malformed(what: "signature")
    }
    var chunks: [(kind: String, content: [UInt8])] = []
    var rest = file[8...]
    while !rest.isEmpty {
      guard rest.count >= 12 else { throw Malformed(what: "chunk header") }
      let length = Int(Self.number(rest.prefix(4)))
      guard rest.count >= 12 + length else { throw Malformed(what: "chunk length") }
      let checked = rest.dropFirst(4).prefix(4 + length)
      guard Self.number(rest.dropFirst(8 + length).prefix(4)) == Self.checksum(checked) else {
        throw Malformed(what: "checksum")
      }
      chunks.append(
        (String(decoding: checked.prefix(4), as: UTF8.self), Array(checked.dropFirst(4))))
      rest = rest.dropFirst(12 + length)
    }
    guard chunks.map(\.kind) == ["IHDR", "IDAT", "IEND"], chunks[2].content.isEmpty else {
      throw Malformed(what: "order of chunks")
    }
    let header = chunks[0].content
    guard header.count == 13, header[8...] == [8, 2, 0, 0, 0] else {
      throw Malformed(what: "header")
    }
    width = Int(Self.number(header[0..<4]))
    height = Int(Self.number(header[4..<8]))
    pixels = try Self.unfiltered(Self.inflated(chunks[1].content), width: width, height: height)
  }

  private static func unfiltered(_ data: [UInt8], width: Int, height: Int) throws -> [UInt8] {
    let stride = 1 + 3 * width
    guard data.count == stride * height else { throw Malformed(what: "amount of data") }
    var pixels: [UInt8] = []
    pixels.reserveCapacity(3 * width * height)
    for row in 0..<height {
      guard data[row * stride] == 1 else { throw Malformed(what: "filter") }
      for index in 0..<3 * width {
        let earlier = index < 3 ? 0 : pixels[pixels.count - 3]
        pixels.append(data[row * stride + 1 + index] &+ earlier)
      }
    }
    return pixels
  }

  private static func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
    var output = [UInt8](repeating: 0, count: 1 << 20)
    var length = uLongf(output.count)
    guard uncompress(&output, &length, bytes, uLong(bytes.count)) == Z_OK else {
      throw Malformed(what: "compressed data")
    }
    return Array(output.prefix(Int(length)))
  }

  private static func number(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The CRC of the PNG specification, bit by bit.
  private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var register = UInt32.max
    for byte in bytes {
      register ^= UInt32(byte)
      for _ in 0..<8 {
        register = register & 1 == 1 ? register >> 1 ^ 0xedb8_8320 : register >> 1
      }
    }
    return ~register
  }
}
