import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate of 127.0.0.1 that signs itself: the file of it, and of its key. */
export interface Certificate {
  readonly file: string;
  readonly keyFile: string;
  remove(): void;
}

/** null: there is no `openssl` to make one with. */
export function makeCertificate(): Certificate | null {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-bench-tls-'));
  const [file, keyFile] = [join(dir, 'server.crt'), join(dir, 'server.key')];
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const { status } = spawnSync('openssl', ['req', '-x509', '-days', '2', ...key, ...subject, '-out', file]);
  if (status === 0) return { file, keyFile, remove };
  remove();
  return null;
}
