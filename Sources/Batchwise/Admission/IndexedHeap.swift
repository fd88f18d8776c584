// SPDX-License-Identifier: Apache-2.0

/// A priority queue whose values can be found again, to take one out or to move it.
///
/// The least rank comes first; of equal ranks, the one inserted first. An identifier is never used
/// twice, so one that is out of date finds nothing.
///
/// - Complexity: O(log *n*) for everything that changes the order, O(1) to look. Memory follows the
///   number of values: an empty heap has given back what a large one needed.
package struct IndexedHeap<Rank: Comparable, Value> {
  /// Finds a value again.
  package typealias ID = Slab<Place>.ID

  /// A value of the heap, with what belongs to it.
  package typealias Entry = (id: ID, rank: Rank, value: Value)

  /// A value, and where its node is while others move around it.
  package struct Place {
    fileprivate let value: Value
    fileprivate var index: Int
  }

  /// What the order is made of, kept apart from the values so that little is moved.
  private struct Node {
    var rank: Rank
    let id: ID

    static func < (one: Node, other: Node) -> Bool {
      if one.rank == other.rank { return one.id.number < other.id.number }
      return one.rank < other.rank
    }
  }

  private var nodes: [Node] = []
  private var places = Slab<Place>()

  /// Creates an empty heap.
  package init() {}

  /// How many values there are.
  package var count: Int { nodes.count }

  /// Whether there is none.
  package var isEmpty: Bool { nodes.isEmpty }

  /// The first in order.
  package var first: Entry? {
    nodes.first.flatMap { entry(of: $0) }
  }

  /// The rank of the first in order.
  package var firstRank: Rank? { nodes.first?.rank }

  /// Looks at the first value without copying it; nil if there is none.
  package func readFirst<Result>(_ look: (Value) -> Result) -> Result? {
    nodes.first.flatMap { node in places.read(node.id) { look($0.value) } }
  }

  /// All entries, in no order.
  package var entries: some Sequence<Entry> {
    nodes.lazy.compactMap { entry(of: $0) }
  }

  /// The value of an identifier; nil if it is no longer there.
  package subscript(id: ID) -> Value? {
    places[id]?.value
  }

  /// The rank of an identifier; nil if it is no longer there.
  package func rank(of id: ID) -> Rank? {
    places[id].map { nodes[$0.index].rank }
  }

  /// Puts a value in.
  package mutating func insert(_ value: Value, rank: Rank) -> ID {
    let id = places.insert(Place(value: value, index: nodes.count))
    nodes.append(Node(rank: rank, id: id))
    moveUp(from: nodes.count - 1)
    return id
  }

  /// Takes the first value out.
  package mutating func popFirst() -> Entry? {
    guard let node = nodes.first, let value = remove(node.id) else { return nil }
    return (node.id, node.rank, value)
  }

  /// Takes a value out, wherever it stands; nil if it is no longer there.
  package mutating func remove(_ id: ID) -> Value? {
    guard let place = places.remove(id) else { return nil }
    let last = nodes.removeLast()
    if place.index < nodes.count {
      put(last, at: place.index)
      move(from: place.index)
    }
    if nodes.isEmpty, nodes.capacity > 64 { nodes = [] }
    return place.value
  }

  /// Moves a value to where its new rank belongs.
  package mutating func setRank(_ rank: Rank, of id: ID) {
    guard let place = places[id] else { return }
    nodes[place.index].rank = rank
    move(from: place.index)
  }

  /// Gives every value a new rank, all at once.
  package mutating func setRanks(_ newRank: (Entry) -> Rank) {
    for index in nodes.indices {
      guard let entry = entry(of: nodes[index]) else { continue }
      nodes[index].rank = newRank(entry)
    }
    for index in nodes.indices.prefix(nodes.count / 2).reversed() { moveDown(from: index) }
  }

  private func entry(of node: Node) -> Entry? {
    places[node.id].map { (node.id, node.rank, $0.value) }
  }

  private mutating func put(_ node: Node, at index: Int) {
    nodes[index] = node
    places.update(node.id) { $0.index = index }
  }

  private mutating func move(from index: Int) {
    if index > 0, nodes[index] < nodes[(index - 1) / 2] {
      moveUp(from: index)
    } else {
      moveDown(from: index)
    }
  }

  private mutating func moveUp(from start: Int) {
    let node = nodes[start]
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard node < nodes[parent] else { break }
      put(nodes[parent], at: index)
      index = parent
    }
    put(node, at: index)
  }

  private mutating func moveDown(from start: Int) {
    let node = nodes[start]
    var index = start
    while case var child = index * 2 + 1, child < nodes.count {
      if child + 1 < nodes.count, nodes[child + 1] < nodes[child] { child += 1 }
      guard nodes[child] < node else { break }
      put(nodes[child], at: index)
      index = child
    }
    put(node, at: index)
  }
}
