// SPDX-License-Identifier: Apache-2.0

/// What the server has at a path.
///
/// | path | what it is |
/// |---|---|
/// | `/profiles/7` | a profile, as JSON |
/// | `/pictures/07.svg` | a small landscape |
/// | `/pages/7` | a page with links to others, as JSON |
struct Content {
  let type: String
  let text: String

  /// Finds what is there, if anything is.
  init?(of path: String) {
    let parts = path.split(separator: "/")
    guard parts.count == 2, let number = Int(parts[1].prefix { $0 != "." }), number > 0 else {
      return nil
    }
    switch parts[0] {
    case "profiles": (type, text) = ("application/json", Self.profile(number))
    case "pictures": (type, text) = ("image/svg+xml", Self.picture(number))
    case "pages" where number <= pageCount: (type, text) = ("application/json", Self.page(number))
    default: return nil
    }
  }

  private static func profile(_ number: Int) -> String {
    let names = ["Lark", "Heron", "Wren", "Finch", "Kestrel", "Swift", "Plover", "Tern"]
    let cities = ["Lisbon", "Oslo", "Quito", "Kyoto", "Accra"]
    let name = names[number % names.count]
    return #"{"id": \#(number), "name": "\#(name)", "city": "\#(cities[number % cities.count])"}"#
  }

  private static func picture(_ number: Int) -> String {
    let hue = number * 47 % 360
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="480" height="320">
        <rect width="480" height="320" fill="hsl(\(hue), 60%, 80%)"/>
        <circle cx="\(60 + number * 83 % 360)" cy="110" r="36" fill="hsl(\(hue + 40), 90%, 90%)"/>
        <path d="M0 220 Q120 \(120 + number * 29 % 90) 240 220 T480 220 V320 H0Z"
          fill="hsl(\(hue + 150), 35%, 45%)"/>
        <path d="M0 270 Q160 \(190 + number * 13 % 60) 320 260 T480 280 V320 H0Z"
          fill="hsl(\(hue + 160), 40%, 28%)"/>
      </svg>

      """
  }

  /// A page links to those below it in a tree, and back to the first.
  private static func page(_ number: Int) -> String {
    let links = [2 * number, 2 * number + 1].filter { $0 <= pageCount } + [1]
    return #"{"title": "Page \#(number)", "links": \#(links)}"#
  }
}

/// How many pages there are.
private let pageCount = 40
