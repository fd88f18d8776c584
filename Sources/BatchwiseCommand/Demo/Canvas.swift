// SPDX-License-Identifier: Apache-2.0

/// A small sheet of opaque pixels to paint on, back to front.
///
/// Lengths are in pixels; the origin is the top left corner. Edges are smooth: a pixel that a shape
/// covers in part is painted in part.
struct Canvas {
  let width: Int
  let height: Int
  private(set) var pixels: [Colour]

  /// A sheet with one colour at the top that becomes another towards the bottom.
  init(width: Int, height: Int, from top: Colour, to bottom: Colour) {
    self.width = width
    self.height = height
    pixels = []
    pixels.reserveCapacity(width * height)
    for row in 0..<height {
      let colour = top.mixed(with: bottom, Float(row) / Float(height - 1))
      pixels.append(contentsOf: repeatElement(colour, count: width))
    }
  }

  /// Paints a disc; a softness above one pixel blurs its edge inwards.
  mutating func disc(
    x: Float, y: Float, radius: Float, _ colour: Colour, opacity: Float = 1, softness: Float = 1
  ) {
    eachPixel(within: radius, of: (x, y)) { dx, dy in
      (colour, opacity * clamped((radius - length(dx, dy)) / softness))
    }
  }

  /// Paints light that is strongest in the middle and fades away.
  mutating func glow(x: Float, y: Float, radius: Float, _ colour: Colour, opacity: Float) {
    eachPixel(within: radius, of: (x, y)) { dx, dy in
      let nearness = clamped(1 - length(dx, dy) / radius)
      return (colour, opacity * nearness * nearness)
    }
  }

  /// Paints everything below a curve: one colour along the curve that becomes another further down.
  ///
  /// The curve gives the distance from the top for a column; the second colour is reached `depth`
  /// below it.
  mutating func land(
    below crest: (Float) -> Float, from top: Colour, to bottom: Colour, depth: Float
  ) {
    for column in 0..<width {
      let edge = crest(Float(column))
      for row in max(0, Int(edge))..<max(0, Int(edge), height) {
        let below = Float(row) - edge
        let colour = top.mixed(with: bottom, clamped(below / depth))
        blend(colour, clamped(below + 1), at: row * width + column)
      }
    }
  }

  /// Paints a veil that is densest along a curve and fades away above it.
  mutating func veil(
    above crest: (Float) -> Float, reach: Float, _ colour: Colour, opacity: Float
  ) {
    for column in 0..<width {
      let edge = crest(Float(column))
      for row in span(edge - reach / 2, reach / 2, height) {
        let nearness = clamped(1 - (edge - Float(row)) / reach)
        blend(colour, opacity * nearness * nearness, at: row * width + column)
      }
    }
  }

  /// Paints the part of a disc that a second one, shifted up and aside, leaves free.
  mutating func crescent(x: Float, y: Float, radius: Float, _ colour: Colour) {
    eachPixel(within: radius, of: (x, y)) { dx, dy in
      let covered = radius * 0.86 - length(dx - radius * 0.42, dy + radius * 0.2)
      return (colour, min(clamped(radius - length(dx, dy)), 1 - clamped(covered)))
    }
  }

  /// Paints a level bar whose ends fade.
  mutating func bar(x: Float, y: Int, length: Float, _ colour: Colour, opacity: Float) {
    guard (0..<height).contains(y) else { return }
    let half = length / 2
    for column in max(0, Int(x - half))..<max(0, min(width, Int(x + half))) {
      let fade = 1 - abs(Float(column) - x) / half
      blend(colour, opacity * clamped(fade * 2), at: y * width + column)
    }
  }

  private mutating func eachPixel(
    within radius: Float, of centre: (x: Float, y: Float),
    paint: (_ dx: Float, _ dy: Float) -> (Colour, opacity: Float)
  ) {
    for row in span(centre.y, radius, height) {
      for column in span(centre.x, radius, width) {
        let (colour, opacity) = paint(Float(column) - centre.x, Float(row) - centre.y)
        if opacity > 0 { blend(colour, opacity, at: row * width + column) }
      }
    }
  }

  /// The whole numbers at most `reach` away from the middle, kept within the sheet.
  private func span(_ middle: Float, _ reach: Float, _ end: Int) -> Range<Int> {
    let low = min(max(Int(middle - reach), 0), end)
    return low..<max(low, min(Int(middle + reach) + 1, end))
  }

  private mutating func blend(_ colour: Colour, _ opacity: Float, at index: Int) {
    pixels[index] = opacity >= 1 ? colour : pixels[index].mixed(with: colour, opacity)
  }
}

private func length(_ dx: Float, _ dy: Float) -> Float {
  (dx * dx + dy * dy).squareRoot()
}

private func clamped(_ value: Float) -> Float {
  value < 0 ? 0 : value > 1 ? 1 : value
}

/// A colour in three parts from 0 to 1.
struct Colour {
  var red: Float
  var green: Float
  var blue: Float

  /// The colour that style sheets write as `#rrggbb`.
  init(_ hex: UInt32) {
    red = Float(hex >> 16 & 0xff) / 255
    green = Float(hex >> 8 & 0xff) / 255
    blue = Float(hex & 0xff) / 255
  }

  private init(red: Float, green: Float, blue: Float) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// This colour for 0, the other for 1, and what lies between.
  func mixed(with other: Colour, _ share: Float) -> Colour {
    Colour(
      red: red + (other.red - red) * share,
      green: green + (other.green - green) * share,
      blue: blue + (other.blue - blue) * share)
  }
}
