/** Writes one JSON array item by item. */
export class JsonArrayWriter {
  #begun = false;

  /** `text`: the JSON of the item. */
  item(text: string): string {
    const before = this.#begun ? ',\r\n' : '[';
    this.#begun = true;
    return before + text;
  }

  end(): string {
    return this.#begun ? ']' : '[]';
  }
}
