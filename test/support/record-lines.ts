import { writeIntent, writeSettlement } from '../../src/common/ledger/journal-line.js';
import { LineWriter } from '../../src/common/ledger/line-writer.js';
import type { Intent, Settlement } from '../../src/common/ledger/record.js';

function lineOf<Record>(write: (to: LineWriter, record: Record) => void, record: Record): string {
  const writer = new LineWriter(256, 1024 * 1024);
  write(writer, record);
  return writer.bytes.toString('latin1', 0, writer.used);
}

/** The line of an intent, as a journal has it. */
export const intentText = (intent: Intent): string => lineOf(writeIntent, intent);

/** The line of a settlement, as a journal has it. */
export const settlementText = (settlement: Settlement): string => lineOf(writeSettlement, settlement);

/** The JSON array in a line. */
export const arrayOf = (line: string): string => line.slice(1, line.lastIndexOf(']') + 1);
