// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CSQLite

extension Database {
  /// Refuses by its first bytes what SQLite would call no database, or would begin to mend although
  /// it is another program's.
  func refuseForeign() throws(JournalError) {
    let head = try head(100)
    guard head.contains(where: { $0 != 0 }) else {
      throw damaged("It holds nothing but zeros")
    }
    guard head.starts(with: Array("SQLite format 3".utf8) + [0]) else {
      throw .foreign(name, "It is no database.")
    }
    func number(at place: Int) -> Int64 {
      head[place..<place + 4].reduce(0) { $0 << 8 | Int64($1) }
    }
    let application = head.count < 72 ? 0 : number(at: 68)
    guard application == 0 || application == Schema.applicationID else {
      throw .foreign(name, "It is a database of another program.")
    }
    guard head.count == 100 else { throw damaged("It ends too early") }
    // SQLite would take such a file for one that must not be written, or call this a mistake in
    // whatever statement comes first.
    guard head[18] <= 2, head[19] <= 2, number(at: 44) <= 4 else {
      throw damaged("It has an unknown form")
    }
  }

  /// The first bytes of the file, fewer if it is shorter, without a look at what lies beside it.
  ///
  /// Read by SQLite, for whoever closes a file takes away the locks that SQLite has on it elsewhere in
  /// the process.
  private func head(_ count: Int) throws(JournalError) -> [UInt8] {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var size: sqlite3_int64 = 0
    let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods?.pointee else {
      throw failure(code)
    }
    let sizing = methods.xFileSize(file, &size)
    guard sizing == SQLITE_OK else { throw failure(sizing) }
    var head = [UInt8](repeating: 0, count: Int(min(size, Int64(count))))
    let reading = methods.xRead(file, &head, Int32(head.count), 0)
    guard reading == SQLITE_OK else { throw failure(reading) }
    return head
  }
}
