(* One example moves the sum by at most C/g (clip/sum.go): theorem one_example_moves_little. Lengths
   are measured in float64, whose errors the measured length has to make up for. *)

From Coq Require Import ZArith Lia List Reals Lra Psatz.
From Flocq Require Import Core Relative.
From DPSGD Require Import float64.
Import ListNotations.
Open Scope R_scope.

(* ** Measuring: internal/kernel/integers.go, round of clip/outer.go and clip/sum.go *)

(* What overflows is larger than what is accepted, with infinity as without.
   How squares are added up, in whatever order: squares of integers, sums, squares that are added
   with one rounding, and the product of two such sums, times 2^shift twice. *)
Inductive measuring :=
| Square (c : Z)
| Plus (s t : measuring)
| PlusSquare (s : measuring) (c : Z)
| Times (s t : measuring) (shift : nat).

(* The sum itself, and what float64 makes of it. *)
Fixpoint exact s : Z :=
  match s with
  | Square c => c * c
  | Plus s t => exact s + exact t
  | PlusSquare s c => exact s + c * c
  | Times s t shift => exact s * exact t * (2 ^ Z.of_nat shift * 2 ^ Z.of_nat shift)
  end%Z.
Fixpoint measured s : R :=
  match s with
  | Square c => float64 (IZR c * IZR c)
  | Plus s t => float64 (measured s + measured t)
  | PlusSquare s c => float64 (measured s + IZR c * IZR c)
  | Times s t shift =>
    let unit := IZR (2 ^ Z.of_nat shift) in
    float64 (float64 (float64 (measured s * measured t) * unit) * unit)
  end.

(* The roundings that a number has been through, at most. *)
Fixpoint roundings s : nat :=
  match s with
  | Square c => 1
  | Plus s t => 1 + Nat.max (roundings s) (roundings t)
  | PlusSquare s c => 1 + roundings s
  | Times s t _ => 3 + roundings s + roundings t
  end.

(* Sums of squares of integers are 0 or at least 1, rounded or not, far from underflow. *)
Definition whole r := r = 0 \/ 1 <= r.

Lemma float64_bounds r : whole r ->
  (1 - eps) * r <= float64 r <= (1 + eps) * r /\ whole (float64 r).
Proof.
  intros [->|H]; unfold float64.
  - rewrite round_0 by apply valid_rnd_N. split; [lra | left; reflexivity].
  - pose proof (relative_error_N_FLT radix2 (-1074) 53 ltac:(lia) (fun n => negb (Z.even n)) r) as E.
    rewrite (Rabs_pos_eq r) in E by lra.
    assert (L : bpow radix2 (-1074 + 53 - 1) <= r).
    { apply Rle_trans with (bpow radix2 0); [apply bpow_le; lia | exact H]. }
    specialize (E L). change (/ 2 * bpow radix2 (- (53) + 1)) with eps in E. apply Rabs_le_inv in E. split; [lra|]. right.
    rewrite <- (round_generic radix2 (FLT_exp (-1074) 53) ZnearestE 1).
    + apply round_le; [apply FLT_exp_valid; reflexivity | apply valid_rnd_N | exact H].
    + apply generic_format_FLT_1; [reflexivity | discriminate].
Qed.

Lemma whole_square c : whole (IZR c * IZR c).
Proof.
  rewrite <- mult_IZR. destruct (Z.eq_dec c 0) as [->|]; [left; reflexivity|].
  right. apply IZR_le. nia.
Qed.

Lemma whole_plus r s : whole r -> whole s -> whole (r + s).
Proof. intros [->|] [->|]; unfold whole; lra. Qed.

Lemma whole_times r s : whole r -> whole s -> whole (r * s).
Proof. intros [->|] [->|]; unfold whole; try (left; ring). right. nra. Qed.

Lemma whole_power n : whole (IZR (2 ^ Z.of_nat n)).
Proof. right. apply IZR_le. pose proof (Z.pow_pos_nonneg 2 (Z.of_nat n)). lia. Qed.

Lemma whole_nonneg r : whole r -> 0 <= r.
Proof. intros [->|]; lra. Qed.

(* What n roundings leave of a number, at least. *)
Definition least n := (1 - eps) ^ n.

Lemma least_bounds n : 0 < least n <= 1.
Proof.
  unfold least. pose proof eps_is. split; [apply pow_lt; lra|].
  apply Rle_trans with (1 ^ n); [apply pow_incr; lra | rewrite pow1; lra].
Qed.

Lemma least_falls m n : (m <= n)%nat -> least n <= least m.
Proof.
  intros H. replace n with (m + (n - m))%nat by lia. unfold least. rewrite pow_add.
  pose proof (least_bounds m). pose proof (least_bounds (n - m)). unfold least in *. nra.
Qed.

Lemma least_step n r s : whole r -> least n * s <= r -> least (S n) * s <= float64 r /\ whole (float64 r).
Proof.
  intros W H. destruct (float64_bounds r W) as [[L _] W']. split; [|exact W'].
  pose proof eps_is. unfold least in *. cbn [pow]. nra.
Qed.

Lemma exact_nonneg s : (0 <= exact s)%Z.
Proof.
  induction s; cbn [exact]; try nia.
Qed.

(* What is measured is at least what is there, less a part of eps for each rounding. *)
Lemma measured_is_enough s : least (roundings s) * IZR (exact s) <= measured s /\ whole (measured s).
Proof.
  induction s as [c|s [Hs Ws] t [Ht Wt]|s [Hs Ws] c|s [Hs Ws] t [Ht Wt] shift]; cbn [exact measured roundings].
  - apply (least_step 0); [apply whole_square|]. unfold least. rewrite mult_IZR. cbn [pow]. lra.
  - cbn [plus]. apply least_step; [apply whole_plus; assumption|]. rewrite plus_IZR.
    pose proof (least_falls _ _ (Nat.le_max_l (roundings s) (roundings t))).
    pose proof (least_falls _ _ (Nat.le_max_r (roundings s) (roundings t))).
    pose proof (IZR_le _ _ (exact_nonneg s)). pose proof (IZR_le _ _ (exact_nonneg t)). nra.
  - cbn [plus]. apply least_step; [apply whole_plus; [assumption | apply whole_square]|].
    rewrite plus_IZR, mult_IZR. pose proof (least_bounds (roundings s)).
    pose proof (whole_nonneg _ (whole_square c)). nra.
  - pose proof (whole_power shift) as U. set (unit := IZR (2 ^ Z.of_nat shift)) in *.
    pose proof (whole_nonneg _ U).
    assert (P : least (roundings s + roundings t) * (IZR (exact s) * IZR (exact t)) <= measured s * measured t).
    { unfold least in *. rewrite pow_add.
      pose proof (IZR_le _ _ (exact_nonneg s)). pose proof (IZR_le _ _ (exact_nonneg t)).
      pose proof (least_bounds (roundings s)). pose proof (least_bounds (roundings t)). unfold least in *.
      replace ((1 - eps) ^ roundings s * (1 - eps) ^ roundings t * (IZR (exact s) * IZR (exact t)))
        with (((1 - eps) ^ roundings s * IZR (exact s)) * ((1 - eps) ^ roundings t * IZR (exact t))) by ring.
      apply Rmult_le_compat; try assumption; apply Rmult_le_pos; lra. }
    apply least_step in P as [P1 W1]; [|apply whole_times; assumption].
    apply (Rmult_le_compat_r unit) in P1; [|assumption]. rewrite Rmult_assoc in P1.
    apply least_step in P1 as [P2 W2]; [|apply whole_times; assumption].
    apply (Rmult_le_compat_r unit) in P2; [|assumption]. rewrite Rmult_assoc in P2.
    apply least_step in P2 as [P3 W3]; [|apply whole_times; assumption].
    split; [|exact W3]. rewrite !mult_IZR. fold unit.
    replace (3 + roundings s + roundings t)%nat with (S (S (S (roundings s + roundings t)))) by lia.
    replace (IZR (exact s) * IZR (exact t) * (unit * unit))
      with (IZR (exact s) * IZR (exact t) * unit * unit) by ring.
    exact P3.
Qed.

Lemma least_bernoulli n : 1 - INR n * eps <= least n.
Proof.
  pose proof eps_is as E. unfold least. induction n as [|n IH]; [cbn; lra|].
  rewrite S_INR. cbn [pow]. pose proof (pos_INR n). nra.
Qed.

(* longest of clip/lattice.go, of a whole number of spacings. *)
Definition longest (spacings : Z) := float64 (float64 (IZR spacings * IZR spacings) * (1 - / 1048576)).

(* What is accepted is no longer than it may be, for up to 2^32 roundings. *)
Theorem accepted_is_short s spacings : (1024 <= spacings)%Z -> INR (roundings s) <= 4294967296 ->
  measured s <= longest spacings -> (exact s <= spacings * spacings)%Z.
Proof.
  intros Hs Hn H. destruct (measured_is_enough s) as [M _].
  pose proof (least_bernoulli (roundings s)) as B. pose proof eps_is as E.
  pose proof (IZR_le _ _ (exact_nonneg s)) as N.
  assert (S : 1024 <= IZR spacings) by (apply IZR_le; exact Hs).
  destruct (float64_bounds (IZR spacings * IZR spacings)) as [[_ U1] _]; [right; nra|].
  assert (W : whole (float64 (IZR spacings * IZR spacings) * (1 - / 1048576))).
  { destruct (float64_bounds (IZR spacings * IZR spacings)) as [[L1 _] _]; [right; nra|]. right. nra. }
  destruct (float64_bounds _ W) as [[_ U2] _]. fold (longest spacings) in U2.
  apply le_IZR. rewrite mult_IZR. set (q := IZR spacings * IZR spacings) in *.
  assert (Q : 0 <= q) by (unfold q; nra).
  assert (A : (1 - / 2097152) * IZR (exact s) <= least (roundings s) * IZR (exact s)).
  { apply Rmult_le_compat_r; [exact N|]. nra. }
  assert (C : longest spacings <= (1 + eps) * ((1 + eps) * q * (1 - / 1048576))).
  { apply Rle_trans with (1 := U2). apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; lra. }
  assert (D : (1 + eps) * ((1 + eps) * q * (1 - / 1048576)) <= (1 - / 2097152) * q).
  { replace ((1 + eps) * ((1 + eps) * q * (1 - / 1048576))) with ((1 + eps) * (1 + eps) * (1 - / 1048576) * q) by ring.
    apply Rmult_le_compat_r; [exact Q|]. rewrite E. lra. }
  nra.
Qed.

(* ** Vectors of integers of dim coordinates *)

Definition vector := nat -> Z.

Fixpoint squares (dim : nat) (v : vector) : Z :=
  match dim with O => 0 | S j => squares j v + v j * v j end%Z.

Lemma squares_ext dim u v : (forall j, u j = v j) -> squares dim u = squares dim v.
Proof. intros H. induction dim; cbn [squares]; congruence. Qed.

Lemma squares_split d e v : squares (d + e) v = (squares d v + squares e (fun j => v (d + j)%nat))%Z.
Proof.
  induction e as [|e IH]; [rewrite Nat.add_0_r; cbn; lia|].
  rewrite Nat.add_succ_r. cbn [squares]. rewrite IH. lia.
Qed.

(* The product z x^T times 2^shift of clip/outer.go: its squared norm is that of the factors,
   multiplied, as Times has it. *)
Theorem product_is_measured x z in_ out shift : (0 < in_)%nat ->
  squares (out * in_) (fun j => z (j / in_)%nat * x (j mod in_)%nat * 2 ^ Z.of_nat shift)%Z
  = (squares in_ x * squares out z * (2 ^ Z.of_nat shift * 2 ^ Z.of_nat shift))%Z.
Proof.
  intros Hin. set (u := (2 ^ Z.of_nat shift)%Z). induction out as [|out IH]; [cbn; lia|].
  replace (S out * in_)%nat with (out * in_ + in_)%nat by lia.
  rewrite squares_split, IH. cbn [squares].
  assert (R : forall w, (w <= in_)%nat ->
    squares w (fun j => z ((out * in_ + j) / in_)%nat * x ((out * in_ + j) mod in_)%nat * u)%Z
    = (squares w x * (z out * z out) * (u * u))%Z).
  { induction w as [|w IHw]; intros Hw; [reflexivity|]. cbn [squares]. rewrite IHw by lia.
    replace ((out * in_ + w) / in_)%nat with out by (rewrite Nat.div_add_l, Nat.div_small; lia).
    replace ((out * in_ + w) mod in_)%nat with w
      by (rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small; lia).
    ring. }
  rewrite R by lia. ring.
Qed.

(* ** Sums of neighbouring sets *)

(* What the engines and the kernels make of one record: integers, and how these were measured;
   nothing where something is not finite. *)
Record contribution := { integers : vector; measure : option measuring }.

Section Neighbours.
Variables (dim : nat) (record : Type) (C g : R) (spacings : Z).

(* Row i is a function of record i alone; that is all that is asked of the function. *)
Variable contribute : record -> contribution.

(* The measured squares are those of all coordinates, each once, of no more than 2^32 values. *)
Hypothesis measured_as_added : forall r s, measure (contribute r) = Some s ->
  exact s = squares dim (integers (contribute r)) /\ INR (roundings s) <= 4294967296.

(* spacings is C/g, rounded down; clip/lattice.go makes it 2^20 at least. *)
Hypothesis Hg : 0 < g.
Hypothesis Hspacings : (1024 <= spacings)%Z /\ IZR spacings <= C / g.

(* What is too long, or not finite, is left out. *)
Definition kept r : vector :=
  match measure (contribute r) with
  | Some s => if Rle_dec (measured s) (longest spacings) then integers (contribute r) else fun _ => 0%Z
  | None => fun _ => 0%Z
  end.

(* A place holds a record or is empty. *)
Fixpoint sum (places : list (option record)) : vector :=
  match places with
  | [] => fun _ => 0%Z
  | Some r :: places => fun j => (kept r j + sum places j)%Z
  | None :: places => sum places
  end.

Lemma kept_is_short r : (squares dim (kept r) <= spacings * spacings)%Z.
Proof.
  assert (Z0 : forall d, squares d (fun _ => 0%Z) = 0%Z) by (induction d; cbn [squares]; lia).
  unfold kept. destruct (measure (contribute r)) as [s|] eqn:E; [|rewrite Z0; nia].
  destruct (measured_as_added r s E) as [X N]. destruct (Rle_dec _ _); [|rewrite Z0; nia].
  rewrite <- X. apply accepted_is_short; tauto.
Qed.

(* So no coordinate is above C/g, which partial.v asks of the rows of a group. *)
Theorem coordinates_are_short r j : (j < dim)%nat -> (Z.abs (kept r j) <= spacings)%Z.
Proof.
  intros Hj. pose proof (kept_is_short r) as K. destruct Hspacings as [H _].
  assert (L : forall d v, (j < d)%nat -> (v j * v j <= squares d v)%Z).
  { assert (P : forall d v, (0 <= squares d v)%Z) by (induction d; intros; cbn [squares]; [lia | specialize (IHd v); nia]).
    induction d as [|d IH]; intros v Hd; [lia|]. cbn [squares]. destruct (Nat.eq_dec j d) as [->|].
    - specialize (P d v). lia.
    - specialize (IH v ltac:(lia)). nia. }
  specialize (L dim (kept r) Hj). nia.
Qed.

(* For two sets of examples of which one is the other plus one example, the sums differ, in units of
   g, by an integer vector of L2 norm at most C/g: by exactly one c_i, whose norm was computed from
   the very integers that were added. The example's place is empty in the other set. *)
Theorem one_example_moves_little before r after :
  let difference j := (sum (before ++ Some r :: after) j - sum (before ++ None :: after) j)%Z in
  (forall j, difference j = kept r j) /\ sqrt (IZR (squares dim difference)) <= C / g.
Proof.
  intros difference.
  assert (E : forall j, difference j = kept r j).
  { unfold difference. intros j. induction before as [|[b|] before IH]; cbn [app sum] in *; lia. }
  split; [exact E|]. rewrite (squares_ext dim _ _ E). destruct Hspacings as [H1 H2].
  apply Rle_trans with (2 := H2). pose proof (IZR_le _ _ (kept_is_short r)) as K.
  rewrite mult_IZR in K. rewrite <- (sqrt_square (IZR spacings)).
  - apply sqrt_le_1_alt. exact K.
  - apply IZR_le. lia.
Qed.

End Neighbours.
