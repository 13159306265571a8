import type { UnredactedBody } from '../../../../common/ipc/shared.js';
import type { UnredactedText, UnredactedTextStore } from '../../records/unredacted-texts.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database } from '../connection/driver.js';
import type { DataKeys } from '../keys/data-keys.js';

interface UnredactedRow {
  readonly organisation_id: string;
  readonly log_id: string;
  readonly part: UnredactedBody['part'];
  readonly sealed: Buffer;
  readonly cut: boolean | number;
  readonly created_at: number | string;
}

/** Milliseconds. */
const keptMs = 30 * 86_400_000;
/** Of one organisation. */
const maxTexts = 10_000;

const sealedPlace = ({
  organisation_id,
  log_id,
  part,
}: Omit<UnredactedRow, 'sealed' | 'cut' | 'created_at'>): SealedPlace => ({
  ...{ table: 'unredacted_texts', row: `${log_id}/${part}`, organisation: organisation_id, field: 'sealed' },
});

export class SqlUnredactedTexts implements UnredactedTextStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  put({ organisationId, id, part, text, cut }: UnredactedBody): Promise<void> {
    const own = { organisation_id: organisationId, log_id: id, part };
    return this.database.write(async (sql) => {
      const sealed = await this.dataKeys.seal(sql, sealedPlace(own), text);
      await sql('unredacted_texts')
        .insert({ ...own, sealed, cut, created_at: this.now() })
        .onConflict(['organisation_id', 'log_id', 'part'])
        .ignore();
    });
  }

  get(organisationId: string, logId: string): Promise<UnredactedText | null> {
    return this.database.read(async (sql) => {
      const rows: UnredactedRow[] = await sql('unredacted_texts').where({
        organisation_id: organisationId,
        log_id: logId,
      });
      if (rows.length === 0) return null;
      const textOf = async (part: UnredactedBody['part']): Promise<string | null> => {
        const row = rows.find((one) => one.part === part);
        return row === undefined ? null : this.dataKeys.open(sql, sealedPlace(row), row.sealed);
      };
      return {
        request: await textOf('request'),
        response: await textOf('response'),
        cut: rows.some(({ cut }) => Boolean(cut)),
      };
    });
  }

  prune(): Promise<void> {
    return this.database.write(async (sql) => {
      await sql('unredacted_texts')
        .where('created_at', '<', this.now() - keptMs)
        .delete();
      const full: { organisation_id: string }[] = await sql('unredacted_texts')
        .groupBy('organisation_id')
        .havingRaw('count(*) > ?', [maxTexts])
        .select('organisation_id');
      for (const { organisation_id } of full) {
        const own = { organisation_id };
        const last = await sql('unredacted_texts')
          .where(own)
          .orderBy('created_at', 'desc')
          .offset(maxTexts)
          .first('created_at');
        if (last !== undefined)
          await sql('unredacted_texts').where(own).andWhere('created_at', '<=', last.created_at).delete();
      }
    });
  }
}
