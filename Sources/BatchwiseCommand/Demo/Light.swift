// SPDX-License-Identifier: Apache-2.0

/// The colours of one hour of the day, and where the sun stands.
struct Light {
  let zenith: Colour
  let horizon: Colour
  let glow: Colour
  let land: Colour

  /// The sun's place from left, 0, to right, 1.
  let sun: Float

  static let all: [Light] = [dawn, noon, evening, dusk]

  static let dawn = Light(
    zenith: Colour(0x7fa6d6), horizon: Colour(0xfbd9c4), glow: Colour(0xffc58f),
    land: Colour(0x2f4a5e), sun: 0.28)
  static let noon = Light(
    zenith: Colour(0x3f9bd1), horizon: Colour(0xd9f0ea), glow: Colour(0xfff0b8),
    land: Colour(0x14544c), sun: 0.66)
  static let evening = Light(
    zenith: Colour(0x5b4a8a), horizon: Colour(0xff9e6b), glow: Colour(0xffd27a),
    land: Colour(0x4a1d4d), sun: 0.42)
  static let dusk = Light(
    zenith: Colour(0x27407a), horizon: Colour(0xe58fae), glow: Colour(0xffb3c0),
    land: Colour(0x1c2347), sun: 0.76)
}
