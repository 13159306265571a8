/** Characters of a record. A file with a longer one is no export of usage. */
const maxRecord = 1024 * 1024;

/** Reads comma-separated values piece by piece: records of fields, which may be quoted. */
export class CsvReader {
  #field = '';
  #fields: string[] = [];
  #isQuoted = false;
  /** The last character was a quote in a quoted field: its end, or half of an escaped quote. */
  #isQuote = false;
  #length = 0;
  #lines = 1;
  #began = 1;
  /** The line of the file on which the last record began. */
  line = 0;

  /** Records that are complete with this text. Throws an Error for a record that is too long. */
  *read(text: string): Generator<readonly string[]> {
    for (const letter of text) {
      if (++this.#length > maxRecord) throw new Error(`has a record of more than ${maxRecord} characters`);
      if (letter === '\n') this.#lines++;
      if (this.#isQuote) {
        this.#isQuote = false;
        if (letter === '"') {
          this.#field += '"';
          continue;
        }
        this.#isQuoted = false;
      } else if (this.#isQuoted) {
        if (letter === '"') this.#isQuote = true;
        else this.#field += letter;
        continue;
      }
      if (letter === '"' && this.#field === '') this.#isQuoted = true;
      else if (letter === ',') this.#endField();
      else if (letter === '\n') {
        const record = this.#endRecord();
        if (record !== null) yield record;
      } else if (letter !== '\r') this.#field += letter;
    }
  }

  /** The last record, where the text did not end with a line; null: there is none. Throws an Error if it broke off in quotes. */
  end(): readonly string[] | null {
    if (this.#isQuoted && !this.#isQuote)
      throw new Error(`line ${this.#began} has a quote that is not closed: the file is not complete`);
    return this.#endRecord();
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = '';
  }

  #endRecord(): readonly string[] | null {
    this.#endField();
    const record = this.#fields;
    this.#fields = [];
    this.#isQuoted = false;
    this.#isQuote = false;
    this.#length = 0;
    this.line = this.#began;
    this.#began = this.#lines;
    return record.length === 1 && record[0]!.trim() === '' ? null : record;
  }
}

/** A field as comma-separated values have it. */
export const csvField = (text: string): string =>
  /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
