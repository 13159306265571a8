/** A file that is being written. */
export interface ExportWriter {
  write(text: string): Promise<void>;
  /** From here on it can be read. */
  finish(): Promise<void>;
  /** Removes what was written. */
  abandon(): Promise<void>;
}

/** Where the files of exports are. Names have letters, digits, `-`, `.` and `/`. */
export interface ExportDestination {
  /** `run` distinguishes two writers of one file, of which one was given up. */
  open(name: string, run: number, contentType: string): Promise<ExportWriter>;
  /** Also what is left of writers that were killed. Nothing, where there is none. */
  remove(name: string): Promise<void>;
  /** Piece by piece; null: there is no such file. */
  read(name: string): Promise<AsyncIterable<Buffer> | null>;
}
