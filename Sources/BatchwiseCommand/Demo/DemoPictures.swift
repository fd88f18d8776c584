// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The demo's pictures: small landscapes, drawn by code when they are asked for.
///
/// There is no randomness: a picture is the same in every run, byte for byte.
enum DemoPictures {
  /// How many there are; they are numbered from 1.
  static let count = scenes.count * Light.all.count

  /// A picture as a PNG file of 480 × 320 pixels.
  static func png(_ number: Int) -> [UInt8] {
    precondition((1...count).contains(number), "there is no picture \(number)")
    // Neighbours differ in scene and in light.
    let scene = (number - 1) % scenes.count
    let light = Light.all[((number - 1) / scenes.count + scene) % Light.all.count]
    return scenes[scene](light).png()
  }

  private static let scenes: [@Sendable (Light) -> Canvas] = [hills, sea, night, layers, bubbles]
  private static let width: Float = 480
  private static let height: Float = 320
  private static let white = Colour(0xffffff)

  private static func sky(_ top: Colour, _ bottom: Colour) -> Canvas {
    Canvas(width: Int(width), height: Int(height), from: top, to: bottom)
  }

  /// Ridge behind ridge, paler the further away, under a soft sun.
  private static func hills(in light: Light) -> Canvas {
    var canvas = sky(light.zenith, light.horizon)
    let sun = (x: width * light.sun, y: height * 0.34)
    canvas.glow(x: sun.x, y: sun.y, radius: 190, light.glow, opacity: 0.8)
    canvas.disc(x: sun.x, y: sun.y, radius: 27, light.glow.mixed(with: white, 0.6))
    for ridge in 0..<6 {
      let nearness = Float(ridge) / 5
      let colour = light.horizon.mixed(with: light.land, 0.22 + 0.78 * nearness)
      canvas.land(
        below: curve(
          at: height * (0.46 + 0.45 * nearness), swing: 26 - 8 * nearness,
          waves: 1.3 + 1.1 * nearness, shift: Float(ridge) * 2.1 + light.sun * 5, detail: 0.16),
        from: colour, to: colour.mixed(with: light.horizon, 0.55), depth: 90)
    }
    return canvas
  }

  /// A low sun over water, and its broken reflection.
  private static func sea(in light: Light) -> Canvas {
    var canvas = sky(light.zenith, light.horizon)
    let shore = height * 0.58
    let sun = (x: width * light.sun, y: shore - 16)
    canvas.glow(x: sun.x, y: sun.y, radius: 240, light.glow, opacity: 0.85)
    canvas.disc(x: sun.x, y: sun.y, radius: 40, light.glow.mixed(with: white, 0.55))
    let island = light.land.mixed(with: light.horizon, 0.35)
    let middle: Float = light.sun < 0.5 ? 0.82 : 0.18
    canvas.land(
      below: { x in
        let away = (x / width - middle) * 5.5
        return shore - 36 * (1 - away * away) * (1 + 0.16 * sin(x / 9) + 0.08 * sin(x / 3.7))
      },
      from: island, to: island.mixed(with: light.land, 0.5), depth: 40)
    canvas.land(
      below: { _ in shore }, from: light.horizon.mixed(with: light.land, 0.3),
      to: light.land.mixed(with: light.zenith, 0.3), depth: height - shore)
    for glint in 0..<70 {
      let (across, down) = scattered(glint)
      let distance = down * down
      let y = shore + 2 + distance * (height - shore)
      canvas.bar(
        x: sun.x + (across - 0.5) * (70 + 210 * distance), y: Int(y),
        length: 18 + 70 * distance, light.glow.mixed(with: white, 0.4), opacity: 0.55)
    }
    return canvas
  }

  /// Stars, a crescent, veils of mist, and the edge of a wood.
  private static func night(in light: Light) -> Canvas {
    let dark = light.land.mixed(with: Colour(0x0b1026), 0.5)
    var canvas = sky(dark, dark.mixed(with: light.glow, 0.4))
    for star in 0..<90 {
      let (across, down) = scattered(star + Int(light.sun * 100))
      let size: Float = star % 9 == 0 ? 2.1 : 1.3
      canvas.disc(
        x: across * width, y: down * height * 0.72, radius: size, white,
        opacity: 0.35 + 0.6 * (1 - down), softness: size)
    }
    for mist in 0..<3 {
      canvas.veil(
        above: curve(
          at: height * (0.42 + 0.1 * Float(mist)), swing: 24, waves: 0.9,
          shift: light.sun * 11 + Float(mist) * 1.3, detail: 0.25),
        reach: 120, mist == 1 ? light.zenith : light.horizon, opacity: 0.22)
    }
    let moon = (x: width * (1 - light.sun), y: height * (0.18 + 0.15 * light.sun))
    canvas.glow(x: moon.x, y: moon.y, radius: 120, light.glow, opacity: 0.45)
    canvas.crescent(x: moon.x, y: moon.y, radius: 30, light.glow.mixed(with: white, 0.75))
    let hill = dark.mixed(with: light.glow, 0.2)
    canvas.land(
      below: curve(at: height * 0.74, swing: 20, waves: 1.4, shift: light.sun * 17, detail: 0.1),
      from: hill, to: hill.mixed(with: dark, 0.8), depth: 80)
    let wood = dark.mixed(with: Colour(0x000000), 0.5)
    canvas.land(
      below: { x in
        // Firs: the edge rises to a tip in the middle of each tree's place on rolling ground.
        let place = (x / 23 + light.sun * 6).rounded(.down)
        let fromTip = abs(x / 23 + light.sun * 6 - place - 0.5) * 2
        let size = 34 + 17 * sin(place * 2.4)
        return height * 0.9 + 9 * sin(x / 70 + light.sun * 9) - size * (1 - fromTip)
      },
      from: wood, to: wood, depth: 1)
    return canvas
  }

  /// Sheets of coloured paper with waves cut into their upper edges.
  private static func layers(in light: Light) -> Canvas {
    var canvas = sky(light.horizon.mixed(with: white, 0.45), light.horizon)
    canvas.disc(
      x: width * light.sun, y: height * 0.3, radius: 58, light.glow.mixed(with: white, 0.25))
    for sheet in 0..<7 {
      let nearness = Float(sheet) / 6
      let colour =
        nearness < 0.5
        ? light.glow.mixed(with: light.zenith, nearness * 2)
        : light.zenith.mixed(with: light.land, nearness * 2 - 1)
      let edge = curve(
        at: height * (0.3 + 0.58 * nearness), swing: 24, waves: 1.5,
        shift: Float(sheet) * 1.9 + light.sun * 4, detail: 0)
      canvas.veil(above: edge, reach: 16, Colour(0x1a1030), opacity: 0.35)
      canvas.land(below: edge, from: colour.mixed(with: white, 0.12), to: colour, depth: 30)
    }
    return canvas
  }

  /// Discs of light out of focus.
  private static func bubbles(in light: Light) -> Canvas {
    var canvas = sky(
      light.land.mixed(with: light.zenith, 0.35), light.zenith.mixed(with: light.glow, 0.35))
    canvas.glow(x: width * light.sun, y: height * 0.8, radius: 330, light.glow, opacity: 0.6)
    for bubble in 0..<34 {
      let (across, down) = scattered(bubble + Int(light.sun * 40))
      let radius = 12 + 44 * scattered(bubble * 7).0
      let colour = [light.glow, light.horizon, white][bubble % 3]
      canvas.disc(
        x: across * width, y: down * height, radius: radius, colour, opacity: 0.2, softness: 2)
      canvas.disc(
        x: across * width, y: down * height, radius: radius * 0.86, colour, opacity: 0.1,
        softness: radius * 0.5)
    }
    return canvas
  }

  /// A rolling line around a height: one long wave, a shorter one, and a little roughness.
  private static func curve(
    at level: Float, swing: Float, waves: Float, shift: Float, detail: Float
  ) -> (Float) -> Float {
    { x in
      let turn = x / width * 2 * Float.pi * waves
      let rough = detail * (sin(turn * 5.3 + shift * 3) + 0.5 * sin(turn * 11.7 + shift))
      return level + swing * (sin(turn + shift) + 0.4 * sin(turn * 2.2 + shift * 1.7) + 0.5 * rough)
    }
  }

  /// Points that fill the unit square evenly and without a visible pattern.
  ///
  /// Each coordinate advances by a power of the plastic ratio's inverse, which never falls into step
  /// with itself or the other.
  private static func scattered(_ index: Int) -> (Float, Float) {
    let step = Float(index + 1)
    let (across, down) = (0.5 + step * 0.754_877_67, 0.5 + step * 0.569_840_3)
    return (across - across.rounded(.down), down - down.rounded(.down))
  }
}
