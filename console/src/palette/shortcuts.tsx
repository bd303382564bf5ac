// The dialog that lists the keys that work on every page.
import '../style/palette.css';
import { Dialog } from '../ui/ui.ts';
import { paletteKeys } from './keys.ts';

const shortcuts: Array<[keys: string, effect: string]> = [
  [paletteKeys, 'Find anything: pages, actions, servers, users, addresses'],
  ['/', 'Search on this page'],
  ['?', 'Show the keyboard shortcuts'],
  ['↑ ↓', 'Move in results or in a menu'],
  ['Esc', 'Close what is open'],
];

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        {shortcuts.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
      <p class="note">Shortcuts are off while you type in a field and while a dialog is open.</p>
    </Dialog>
  );
}
