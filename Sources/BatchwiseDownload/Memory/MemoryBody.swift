// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A body that is coming into memory, with the room that is reserved for it.
struct MemoryBody: ~Copyable {
  private let store: BodyStore
  private var reserved: Int
  private(set) var data = Data()

  /// What became of a wish for room.
  enum Room {
    case granted
    /// There will be room when others have given theirs back.
    case later
    /// There will never be room enough.
    case never
  }

  init(in store: BodyStore, reserved: Int) {
    self.store = store
    self.reserved = reserved
  }

  deinit { store.release(reserved) }

  /// How many bytes have come.
  var size: Int64 { Int64(data.count) }

  /// Forgets what has come, and keeps the room for what comes instead.
  mutating func startAnew() { data = Data() }

  /// Takes note of how long it is going to be, and gives back what that leaves over.
  mutating func announce(_ length: Int64) -> Room {
    guard let length = Int(exactly: length), length <= store.room.capacity else { return .never }
    let room = fit(length)
    guard case .granted = room else { return room }
    store.release(reserved - length)
    reserved = length
    data.reserveCapacity(length)
    return .granted
  }

  /// Adds bytes, if there is room for them.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Room {
    let room = fit(data.count + bytes.count)
    if case .granted = room { data.append(contentsOf: bytes) }
    return room
  }

  /// Hands it over as whole.
  consuming func whole(mediaType: String?) -> HeldBody {
    store.release(reserved - data.count)
    reserved = 0
    return HeldBody(data, mediaType: mediaType, in: store)
  }

  private mutating func fit(_ length: Int) -> Room {
    guard length > reserved else { return .granted }
    if store.grow(by: length - reserved) {
      reserved = length
      return .granted
    }
    let room = store.room
    return room.staysFull || length > room.capacity ? .never : .later
  }
}

/// A whole body in memory; its room is given back when nobody holds it any more.
final class HeldBody: Sendable {
  let data: Data
  let mediaType: String?
  private let store: BodyStore

  fileprivate init(_ data: Data, mediaType: String?, in store: BodyStore) {
    self.data = data
    self.mediaType = mediaType
    self.store = store
  }

  deinit { store.release(data.count) }
}

/// Where bodies go.
enum BodyDestination: Sendable {
  case folder(OutputFolder)
  case memory(BodyStore)

  var folder: OutputFolder? { if case .folder(let folder) = self { folder } else { nil } }
  var store: BodyStore? { if case .memory(let store) = self { store } else { nil } }
}
