// SPDX-License-Identifier: Apache-2.0

/// The paths that items of this run have, so that two of them never want the same file.
///
/// Paths are claimed in the order of the list, before anything is requested: which of two items
/// gets the plain name does not depend on which of them is faster, nor on which of them fails.
///
/// Bounded because lists are not: besides the paths of items in flight it knows those of the last
/// 65,536 items that are over. A later item that wishes for an older path finds that taken only when its
/// file is to be named, by what lies there, and so without regard to letter case where the file system
/// has some.
struct NameClaims {
  private var held: Set<CollisionKey> = []
  private var over = RecentValues<CollisionKey>()

  /// Claims a path for the item, or returns nil if there is none for it.
  ///
  /// That is the one that it had in an earlier run, or the plain one, if no other item has it; or, with
  /// the policy `suffix`, its alternative. With the policy `overwrite` only items in flight are in each
  /// other's way, for two of them could end in any order.
  mutating func claim(
    for item: PlannedItem, _ policy: CollisionPolicy = .suffix, previous: OutputPath? = nil
  ) -> OutputPath? {
    // Tried once more, it has again what it had; since then nobody else could.
    if let own = item.source.mark?.path, held.insert(own.collisionKey).inserted { return own }
    if let previous, take(previous, policy) { return previous }
    if take(item.path, policy) { return item.path }
    guard policy == .suffix else { return nil }
    let alternative = item.alternative
    return take(alternative, policy) ? alternative : nil
  }

  /// Takes note that an item is over which has claimed the path, or had it from an earlier run.
  mutating func release(_ path: OutputPath) {
    let key = path.collisionKey
    held.remove(key)
    over.insert(key)
  }

  private mutating func take(_ path: OutputPath, _ policy: CollisionPolicy) -> Bool {
    let key = path.collisionKey
    if policy != .overwrite, over.contains(key) { return false }
    return held.insert(key).inserted
  }
}
