// An address of the console that does not exist, or not for this user.
import { Link } from 'wouter-preact';
import { paths } from './paths.ts';
import { Card, Page } from './ui/ui.ts';

export function NotFoundPage() {
  return (
    <Page title="Nothing here">
      <Card>
        <p>
          There is no such page, or it needs a permission that you do not have.{' '}
          <Link href={paths.overview}>Go to the overview</Link>.
        </p>
      </Card>
    </Page>
  );
}
