// The recovery codes, shown once: to be copied, printed or saved.
import { session } from '../../api/session.ts';
import { download } from '../../csv.ts';
import '../../style/recovery_codes.css';
import { Button, CopyButton } from '../../ui/ui.ts';

export function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const { user, account } = session.value ?? {};
  const whose = `${user?.name} of ${account}, ${location.host}`;
  const asText = `Exitward recovery codes: ${whose}\nEach works once.\n\n${codes.join('\n')}\n`;
  const save = () => download('exitward-recovery-codes.txt', asText, 'text/plain');
  return (
    <>
      <p>
        The second factor is on. If you lose your phone, use one of these codes instead. Each works
        once. They aren’t shown again.
      </p>
      <div class="recovery-codes">
        <p class="printed">Exitward recovery codes: {whose}. Each works once.</p>
        <ul aria-label="Recovery codes">
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
      </div>
      <div class="actions">
        <CopyButton inWords text={codes.join('\n')} name="the recovery codes" />
        <Button icon="download" onClick={save}>
          Save as text
        </Button>
        <Button onClick={() => print()}>Print</Button>
      </div>
      <div class="actions">
        <Button kind="primary" onClick={onDone}>
          I’ve saved them
        </Button>
      </div>
    </>
  );
}
