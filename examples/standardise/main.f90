! SPDX-License-Identifier: Apache-2.0
! main.c in Fortran.
module standardisation
  use, intrinsic :: iso_c_binding
  use tessera
  implicit none

  !> struct sample of device.h, which the functions for devices are given, too.
  type, bind(c) :: sample
    type(c_ptr) :: values
    integer(c_int64_t) :: first, block
    real(c_double) :: mean, deviation
  end type

  procedure(tessera_device_reduction), bind(c) :: moments_on_device
  procedure(tessera_device_function), bind(c) :: standardise_on_device

contains

  function moments_on_host(tile, partial, context) bind(c) result(failed)
    type(tessera_host_tile), intent(in) :: tile
    real(c_double), intent(inout) :: partial(2)
    type(c_ptr), value :: context
    integer(c_int) :: failed
    type(sample), pointer :: of
    real(c_double), pointer :: values(:)
    integer(c_int64_t) :: i
    call c_f_pointer(context, of)
    call c_f_pointer(of%values, values, [tile%range%end - of%first])
    do i = tile%range%begin - of%first + 1, tile%range%end - of%first
      partial(1) = partial(1) + values(i)
      partial(2) = partial(2) + values(i) * values(i)
    end do
    failed = 0
  end function

  function standardise_on_host(tile, units, context) bind(c) result(failed)
    type(tessera_host_tile), intent(in) :: tile
    type(c_ptr), value :: units, context
    integer(c_int) :: failed
    type(sample), pointer :: of
    real(c_double), pointer :: values(:)
    call c_f_pointer(context, of)
    call c_f_pointer(units, values, [tile%range%end - tile%range%begin])
    values = (values - of%mean) / of%deviation
    failed = 0
  end function

end module

program main
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi
  use tessera
  use standardisation
  implicit none
  integer(c_int64_t), parameter :: units = 1000000, block = 4096
  type(c_ptr) :: job, plan
  integer(c_int) :: status
  character(1000) :: text
  integer :: level, rank, error

  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  plan = c_null_ptr
  status = tessera_job_open(MPI_COMM_WORLD, job=job)
  if (status == tessera_ok) status = tessera_plan_open(job, units, block, plan)
  if (status == tessera_ok) call standardise()
  if (status /= tessera_ok .and. rank == 0) then
    call tessera_copy_text(tessera_error(), text, len(text, kind=c_size_t))
    write (error_unit, '(2a)') 'standardise: ', trim(text)
  end if
  call tessera_plan_close(plan)
  call tessera_job_close(job)
  call MPI_Finalize(error)
  stop status, quiet=.true.

contains

  subroutine standardise()
    type(tessera_range) :: mine
    real(c_double), allocatable, target :: values(:)
    type(sample), target :: of
    real(c_double) :: sums(2)
    integer(c_int64_t) :: unit
    integer :: allocated

    mine = tessera_plan_local_range(plan)
    allocate (values(mine%end - mine%begin), stat=allocated)  ! only this rank's part is ever in memory
    status = tessera_together(job, 'the making of the values' // c_null_char, &
                              merge(tessera_ok, tessera_job_fault, allocated == 0), 'out of memory' // c_null_char)
    if (status /= tessera_ok) return
    do unit = mine%begin, mine%end - 1
      values(unit - mine%begin + 1) = sin(real(unit, c_double))
    end do

    of = sample(c_loc(values), mine%begin, block, 0, 1)
    status = tessera_reduce(job, plan, 2_c_size_t, c_sizeof(0.0_c_double), c_funloc(moments_on_device), &
                            c_funloc(moments_on_host), c_loc(of), sums)
    if (status /= tessera_ok) return
    of%mean = sums(1) / units
    of%deviation = sqrt(sums(2) / units - of%mean**2)
    status = tessera_scatter(job, plan, c_loc(values), size(values, kind=c_int64_t), c_sizeof(0.0_c_double), &
                             c_sizeof(0.0_c_double), c_funloc(standardise_on_device), &
                             c_funloc(standardise_on_host), c_loc(of))
    if (status == tessera_ok .and. mine%begin == 0) then
      call tessera_copy_text(tessera_job_verdict(job), text, len(text, kind=c_size_t))
      print '(a, f14.12, a, f15.12, 2a)', 'deviation ', of%deviation, ', the first value is now ', values(1), ', ', &
        trim(text)
    end if
  end subroutine

end program
