package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/stepscope/stepscope/store"
)

// Bounds of a deployment's labels.
const maxLabels = 32

const deploymentColumns = `SELECT d.name, d.note, d.labels, d.gpus, d.peak, d.created,
	(SELECT count(*) FROM engine e WHERE e.deployment = d.id) FROM deployment d WHERE d.deleted IS NULL `

func scanDeployment(scan scanner) (d store.Deployment, err error) {
	var labels string
	var created int64
	if err := scan(&d.Name, &d.Note, &labels, &d.GPUs, &d.PeakTFLOPs, &created, &d.Engines); err != nil {
		return store.Deployment{}, err
	}
	d.Created = time.Unix(0, created).UTC()
	if err := json.Unmarshal([]byte(labels), &d.Labels); err != nil {
		return d, fmt.Errorf("%w: labels of deployment %q: %w", store.ErrCorrupt, d.Name, err)
	}
	return d, nil
}

// Deployments implements store.Samples.
func (s *Store) Deployments(ctx context.Context) (out []store.Deployment, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		return each(tx, func(scan scanner) error {
			d, err := scanDeployment(scan)
			out = append(out, d)
			return err
		}, deploymentColumns+`ORDER BY d.name`)
	})
	if err != nil {
		return nil, s.failure("list deployments", err)
	}
	return out, nil
}

// UpdateDeployment implements store.Samples.
func (s *Store) UpdateDeployment(ctx context.Context, name string, p store.DeploymentPatch) (d store.Deployment, err error) {
	err = s.write(ctx, func(tx *sql.Tx) (err error) {
		if d, err = scanDeployment(tx.QueryRow(deploymentColumns+`AND d.name = ?`, name).Scan); err != nil {
			return err
		}
		if p.Note != nil {
			d.Note = *p.Note
		}
		if p.Labels != nil {
			d.Labels = *p.Labels
		}
		if p.GPUs != nil {
			d.GPUs = *p.GPUs
		}
		if p.PeakTFLOPs != nil {
			d.PeakTFLOPs = *p.PeakTFLOPs
		}
		if d, err = checkDeployment(d); err != nil {
			return err
		}
		labels, err := json.Marshal(d.Labels)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE deployment SET note = ?, labels = ?, gpus = ?, peak = ? WHERE name = ?`, d.Note, string(labels), d.GPUs, d.PeakTFLOPs, name)
		return err
	})
	if err != nil {
		return store.Deployment{}, s.failure(fmt.Sprintf("update deployment %.64q", name), err)
	}
	return d, nil
}

// checkDeployment bounds what people say about a deployment.
func checkDeployment(d store.Deployment) (store.Deployment, error) {
	d.Note = cleanDetail(d.Note)
	if len(d.Labels) > maxLabels {
		return d, fmt.Errorf("%w: %d labels, at most %d are allowed", store.ErrInvalid, len(d.Labels), maxLabels)
	}
	labels := make(map[string]string, len(d.Labels))
	for k, v := range d.Labels {
		k, v = store.Meta{Label: k}.Clean().Label, store.Meta{Label: v}.Clean().Label
		if k == "" {
			return d, fmt.Errorf("%w: a label has no name", store.ErrInvalid)
		}
		labels[k] = v
	}
	d.Labels = maps.Clone(labels)
	if d.GPUs < 0 || !(d.PeakTFLOPs >= 0) || math.IsInf(d.PeakTFLOPs, 0) {
		return d, fmt.Errorf("%w: %d cards of %g TFLOP/s; give numbers from 0 on", store.ErrInvalid, d.GPUs, d.PeakTFLOPs)
	}
	return d, nil
}

// CreateDeployment implements store.Samples.
func (s *Store) CreateDeployment(ctx context.Context, d store.Deployment) error {
	err := store.CheckName("deployment", d.Name, store.MaxLabel)
	if err == nil {
		d, err = checkDeployment(d)
	}
	if err == nil {
		err = s.write(ctx, func(tx *sql.Tx) error {
			var deleted bool
			err := tx.QueryRow(`SELECT deleted IS NOT NULL FROM deployment WHERE name = ?`, d.Name).Scan(&deleted)
			switch {
			case err == nil && deleted:
				return fmt.Errorf("%w: one of this name was deleted a while ago; restore it or choose another name", store.ErrInvalid)
			case err == nil:
				return fmt.Errorf("%w: there is one of this name; choose another", store.ErrInvalid)
			case !errors.Is(err, sql.ErrNoRows):
				return err
			}
			labels, err := json.Marshal(d.Labels)
			if err != nil {
				return err
			}
			_, err = tx.Exec(`INSERT INTO deployment (name, note, labels, gpus, peak, created) VALUES (?, ?, ?, ?, ?, ?)`,
				d.Name, d.Note, string(labels), d.GPUs, d.PeakTFLOPs, s.now().UnixNano())
			return err
		})
	}
	if err != nil {
		return s.failure(fmt.Sprintf("create deployment %.64q", d.Name), err)
	}
	return nil
}

// DeleteDeployment implements store.Samples.
func (s *Store) DeleteDeployment(ctx context.Context, name string) error {
	err := s.change(ctx, `UPDATE deployment SET deleted = coalesce(deleted, ?2) WHERE name = ?1`, name, s.now().UnixNano())
	if err != nil {
		return s.failure(fmt.Sprintf("delete deployment %.64q", name), err)
	}
	return nil
}

// RestoreDeployment implements store.Samples.
func (s *Store) RestoreDeployment(ctx context.Context, name string) error {
	if err := s.change(ctx, `UPDATE deployment SET deleted = NULL WHERE name = ?`, name); err != nil {
		return s.failure(fmt.Sprintf("restore deployment %.64q", name), err)
	}
	return nil
}

// change runs a statement that must meet a row.
func (s *Store) change(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.Exec(query, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, store.ErrNotFound)
		}
		return nil
	})
}

// Engines implements store.Samples.
func (s *Store) Engines(ctx context.Context, deployment string) (out []store.Engine, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		// One seek into an index for each first and last row.
		return each(tx, func(scan scanner) error {
			var e store.Engine
			err := scan(&e.ID, &e.Deployment, &e.Name, &e.Kind, &e.Host, &e.Rank, &e.GPU, &e.Role, &e.Model, &e.Parallel, &e.Version, &e.First, &e.Last)
			out = append(out, e)
			return err
		}, `SELECT e.id, d.name, e.name, e.kind, e.host, e.rank, e.gpu, e.role, e.model, e.parallel, e.version,
			min(ifnull((SELECT min((SELECT min(time) FROM sample WHERE engine = s.engine AND layout = s.layout)) FROM stream s WHERE s.engine = e.id), ?2),
				ifnull((SELECT min(first) FROM series_block WHERE engine = e.id), ?2)),
			max(ifnull((SELECT max((SELECT max(time) FROM sample WHERE engine = s.engine AND layout = s.layout)) FROM stream s WHERE s.engine = e.id), 0),
				ifnull((SELECT max(last) FROM series_block WHERE engine = e.id AND first >= (SELECT max(first) FROM series_block WHERE engine = e.id) - ?3), 0))
			FROM engine e JOIN deployment d ON d.id = e.deployment
			WHERE d.deleted IS NULL AND (?1 = '' OR d.name = ?1) ORDER BY d.name, e.name`, deployment, int64(math.MaxInt64), blockSpan)
	})
	for i := range out {
		if out[i].Last == 0 { // without samples
			out[i].First = 0
		}
	}
	if err != nil {
		return nil, s.failure("list engines", err)
	}
	return out, nil
}
