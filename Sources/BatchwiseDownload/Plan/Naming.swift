// SPDX-License-Identifier: Apache-2.0

/// How a file is named for which the list gives no name; the raw values are the command's words.
///
/// A name depends on nothing that differs between two runs of one list.
public enum Naming: String, Sendable, CaseIterable {
  /// By the last segment of the address's path, decoded once and made safe.
  case url
  /// By 32 hexadecimal digits of a hash of the address, and the extension that its path has.
  ///
  /// The address counts without user name and password. FNV-1a of 128 bits: two addresses of a list
  /// do not agree by chance, though somebody can make such a pair on purpose.
  case hash
  /// By the item's number in the list, from 1 and of at least eight digits, and the extension that the
  /// address's path has.
  ///
  /// Items are counted and not lines, so comments can come and go, and bad items count too, so mending
  /// one changes no other's name.
  case index
}

/// What happens when two items want one file; the raw values are the command's words.
public enum CollisionPolicy: String, Sendable, CaseIterable {
  /// The later one gets a name with a mark before its extension that is made of its address.
  case suffix
  /// The later one is skipped, and nothing is asked for.
  case skip
  /// The later one's file takes the place of the other.
  case overwrite
  /// The later one fails, and nothing is asked for.
  case fail
}
